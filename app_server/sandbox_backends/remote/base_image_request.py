"""Builds the request that tells a sandbox host (another machine that runs sandboxes) which base image a user
has chosen. The host prepares the base image, and builds a sandbox image on it.
"""

from app_server.sandbox_backends.remote.wire import BaseRequest
from app_server.sandbox_images.base_image import BaseImage, BuildFiles

Part = tuple[str | None, str | bytes]


def parts_of(base: BaseImage, built_from: tuple[BuildFiles, bytes] | None) -> dict[str, Part]:
    """Returns the parts of the multipart request that describes a base image. The part `base` contains the
    description; the part `context` contains the packed files if the image is built from files.

    `built_from`: how the image is built from files (BuildFiles), and the gzipped tar of these files. It is
    None if the image is not built from files.
    """
    files, packed = built_from or (None, None)
    asked = BaseRequest(
        name=base.name,
        dockerfile=files.dockerfile if files else None,
        arguments=dict(files.arguments) if files else {},
        target=files.target if files else None,
        timeout_seconds=base.limits.timeout_seconds,
        max_bytes=base.limits.max_bytes,
        network="none" if base.limits.network == "none" else "default",
    )
    parts: dict[str, Part] = {"base": (None, asked.model_dump_json())}
    return {**parts, "context": ("context.tar.gz", packed)} if packed else parts

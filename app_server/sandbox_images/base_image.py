"""The data classes that describe a base image which a user has chosen. A sandbox image is built on top of a
base image. The classes hold the name of the base image, the files that it is built from, and the limits of
the build.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from app_server.core.config import Config

BUILD_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class BuildFiles:
    """A description of the tar file from which a base image is built. It does not contain the tar itself.

    `name`: the name of the base image. `dockerfile`: the path of the Dockerfile in the tar. `arguments`,
    `target`: the options `--build-arg` and `--target` of `docker build`; `target` is None if the option is
    not used. `files`, `bytes`: the number and the total size of the files in the tar, without the Dockerfile.
    """

    name: str
    dockerfile: str
    arguments: Mapping[str, str]
    target: str | None
    files: int
    bytes: int


@dataclass(frozen=True)
class BuildLimits:
    """The limits of one image build. `max_bytes`: the largest allowed size of the built image; None means no
    limit. `network`: the Docker network of the commands in the build; None means the default network of the
    container engine.
    """

    timeout_seconds: float = BUILD_TIMEOUT_SECONDS
    max_bytes: int | None = None
    network: str | None = None

    @classmethod
    def of(cls, config: Config) -> "BuildLimits":
        """Returns the limits that the server's configuration sets for builds of base images that users have
        chosen.
        """
        network = "none" if config.sandbox_build_network == "none" else None
        return cls(config.sandbox_build_timeout_seconds, config.sandbox_build_max_bytes, network)

    def within(self, other: "BuildLimits") -> "BuildLimits":
        """Returns new limits that obey both this object and `other`: the smaller timeout and the smaller
        maximum size. The network is the network of this object; if this is None, it is the network of
        `other`.
        """
        sizes = [size for size in (self.max_bytes, other.max_bytes) if size is not None]
        return BuildLimits(
            min(self.timeout_seconds, other.timeout_seconds),
            min(sizes, default=None),
            self.network or other.network,
        )


@dataclass(frozen=True)
class BaseImage:
    """A base image that a user has chosen.

    `name`: the name of the image. `limits`: the limits for its build. `files`: an async function that returns
    what the image is built from: the BuildFiles that describe the files, and a gzipped tar of the files. The
    function returns None if the image is not built from files, but pulled from a registry or already there.
    """

    name: str
    limits: BuildLimits
    files: Callable[[], Awaitable[tuple[BuildFiles, bytes] | None]]

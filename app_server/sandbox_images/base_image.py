"""A base image that a user has chosen: its name, the files that it is built from, and the limits of the
build.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from app_server.core.config import Config

BUILD_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class BuildFiles:
    """Describes the files, packed in a tar, that a base image is built from. `name`: the name of the base
    image. `dockerfile`: the name of the Dockerfile in the tar.

    `files`, `bytes`: number and total size of the other files.
    """

    name: str
    dockerfile: str
    arguments: Mapping[str, str]
    target: str | None
    files: int
    bytes: int


@dataclass(frozen=True)
class BuildLimits:
    """Limits of an image build. `network`: the network of the build's commands; None means the engine's
    default.
    """

    timeout_seconds: float = BUILD_TIMEOUT_SECONDS
    max_bytes: int | None = None
    network: str | None = None

    @classmethod
    def of(cls, config: Config) -> "BuildLimits":
        """Returns the configured limits for building base images that users choose."""
        network = "none" if config.sandbox_build_network == "none" else None
        return cls(config.sandbox_build_timeout_seconds, config.sandbox_build_max_bytes, network)

    def within(self, other: "BuildLimits") -> "BuildLimits":
        """Returns new limits: for each limit, the stricter value of these limits and of `other`."""
        sizes = [size for size in (self.max_bytes, other.max_bytes) if size is not None]
        return BuildLimits(
            min(self.timeout_seconds, other.timeout_seconds),
            min(sizes, default=None),
            self.network or other.network,
        )


@dataclass(frozen=True)
class BaseImage:
    """A base image that a user has chosen. `files`: a function that returns the description and the gzipped
    tar of the files that the image is built from; None if nothing is built.
    """

    name: str
    limits: BuildLimits
    files: Callable[[], Awaitable[tuple[BuildFiles, bytes] | None]]

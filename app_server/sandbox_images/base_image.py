"""A base image that a user has chosen: what it is, what it is built from, and within which limits."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from app_server.core.config import Config

BUILD_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class BuildFiles:
    """What a base is built from, packed. `name`: of the base. `dockerfile`: its name in the tar.

    `files`, `bytes`: how much else there is.
    """

    name: str
    dockerfile: str
    arguments: Mapping[str, str]
    target: str | None
    files: int
    bytes: int


@dataclass(frozen=True)
class BuildLimits:
    """`network`: of the build's commands; None for the engine's own."""

    timeout_seconds: float = BUILD_TIMEOUT_SECONDS
    max_bytes: int | None = None
    network: str | None = None

    @classmethod
    def of(cls, config: Config) -> "BuildLimits":
        """For what users choose."""
        network = "none" if config.sandbox_build_network == "none" else None
        return cls(config.sandbox_build_timeout_seconds, config.sandbox_build_max_bytes, network)

    def within(self, other: "BuildLimits") -> "BuildLimits":
        """What both allow."""
        sizes = [size for size in (self.max_bytes, other.max_bytes) if size is not None]
        return BuildLimits(
            min(self.timeout_seconds, other.timeout_seconds),
            min(sizes, default=None),
            self.network or other.network,
        )


@dataclass(frozen=True)
class BaseImage:
    """`files`: what it is built from, and its gzipped tar; None where nothing is built."""

    name: str
    limits: BuildLimits
    files: Callable[[], Awaitable[tuple[BuildFiles, bytes] | None]]

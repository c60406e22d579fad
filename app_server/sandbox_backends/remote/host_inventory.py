"""The list of sandboxes of a sandbox host. It is needed because the host's engine may also run sandboxes of a
Slipway app server on the same machine.
"""

from pathlib import Path
from uuid import UUID


class HostInventory:
    """The list of sandboxes of this host: one file for each sandbox in `home`/hosted. The file contains the
    name of the chosen base image, or nothing.

    All methods block for a moment.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "hosted"

    def add(self, sandbox_id: UUID, base: str | None = None) -> None:
        """Adds a sandbox to the list. base: its base image; None leaves a stored base image unchanged."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / sandbox_id.hex
        path.touch()
        if base is not None and path.read_text() != base:
            path.write_text(base)

    def remove(self, sandbox_id: UUID) -> None:
        (self._folder / sandbox_id.hex).unlink(missing_ok=True)

    def all(self) -> set[UUID]:
        return {UUID(path.name) for path in self._folder.iterdir()} if self._folder.is_dir() else set()

    def bases(self) -> set[str]:
        """Returns all base images that users have chosen for sandboxes on this host."""
        return {text for each in self.all() if (text := self._base_of(each))}

    def _base_of(self, sandbox_id: UUID) -> str:
        try:
            return (self._folder / sandbox_id.hex).read_text()
        except FileNotFoundError:
            return ""  # deleted meanwhile

    def __contains__(self, sandbox_id: UUID) -> bool:
        return (self._folder / sandbox_id.hex).exists()

"""The list of the sandboxes that app servers have started on this sandbox host. The list is needed to
tell them apart from the sandboxes of an app server on this machine that uses the same Docker engine.
"""

from pathlib import Path
from uuid import UUID


class HostInventory:
    """The list of the sandboxes of this sandbox host, with one file for each sandbox in the directory
    `home`/hosted. The file contains the name of the base image that a user has chosen, or nothing.

    All methods block the thread for a moment.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "hosted"

    def add(self, sandbox_id: UUID, base: str | None = None) -> None:
        """Adds a sandbox to the list. base: the name of its base image; None leaves a stored name
        unchanged.
        """
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
        """Returns the names of all base images that users have chosen for sandboxes on this host."""
        return {text for each in self.all() if (text := self._base_of(each))}

    def _base_of(self, sandbox_id: UUID) -> str:
        try:
            return (self._folder / sandbox_id.hex).read_text()
        except FileNotFoundError:
            return ""  # deleted meanwhile

    def __contains__(self, sandbox_id: UUID) -> bool:
        return (self._folder / sandbox_id.hex).exists()

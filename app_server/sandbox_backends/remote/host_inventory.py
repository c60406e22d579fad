"""Stores the list of the sandboxes that app servers have started through this sandbox host. The Docker engine
may also contain other sandboxes, if an app server on the same machine uses the engine directly. They are not
in the list.
"""

from pathlib import Path
from uuid import UUID


class HostInventory:
    """The list of the sandboxes of this sandbox host, with one file for each sandbox in the directory
    `home`/hosted. The file contains the name of the base image that a user has chosen for the sandbox; the
    file is empty for the default base image.

    All methods block the thread for a moment.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "hosted"

    def add(self, sandbox_id: UUID, base: str | None = None) -> None:
        """Adds a sandbox to the list, or changes the base image of a sandbox that is in the list already.

        `base`: the name of the base image. If it is None, a sandbox in the list keeps its base image, and an
        added sandbox has the default base image.
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
        """Returns the names of all base images (on which sandbox images are built) that users have chosen for
        the sandboxes of this host. Leaves out the default base image.
        """
        return {text for each in self.all() if (text := self._base_of(each))}

    def _base_of(self, sandbox_id: UUID) -> str:
        try:
            return (self._folder / sandbox_id.hex).read_text()
        except FileNotFoundError:
            return ""  # deleted meanwhile

    def __contains__(self, sandbox_id: UUID) -> bool:
        return (self._folder / sandbox_id.hex).exists()

"""Which sandboxes are this host's own: the engine may run those of a Slipway on this very machine, too."""

from pathlib import Path
from uuid import UUID


class Hosted:
    """Files in `home`/hosted, with the base image that was chosen for each; empty where none was.

    Blocking, and quick.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "hosted"

    def add(self, sandbox_id: UUID, base: str | None = None) -> None:
        """base: None leaves what is known of it."""
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
        """What sandboxes are built on, beside the base of the host's own image."""
        return {text for each in self.all() if (text := self._base_of(each))}

    def _base_of(self, sandbox_id: UUID) -> str:
        try:
            return (self._folder / sandbox_id.hex).read_text()
        except FileNotFoundError:
            return ""  # deleted meanwhile

    def __contains__(self, sandbox_id: UUID) -> bool:
        return (self._folder / sandbox_id.hex).exists()

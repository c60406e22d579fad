"""Which sandboxes are this host's own: the engine may run those of a Slipway on this very machine, too."""

from pathlib import Path
from uuid import UUID


class Hosted:
    """Empty files in `home`/hosted. Blocking, and quick."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "hosted"

    def add(self, sandbox_id: UUID) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._folder / sandbox_id.hex).touch()

    def remove(self, sandbox_id: UUID) -> None:
        (self._folder / sandbox_id.hex).unlink(missing_ok=True)

    def all(self) -> set[UUID]:
        return {UUID(path.name) for path in self._folder.iterdir()} if self._folder.is_dir() else set()

    def __contains__(self, sandbox_id: UUID) -> bool:
        return (self._folder / sandbox_id.hex).exists()

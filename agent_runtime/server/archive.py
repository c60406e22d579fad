"""Packs a directory into a compressed tar file."""

import fnmatch
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

DEFAULT_EXCLUDES = (
    "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox",
    ".gradle", "target", "dist", "build", ".next", ".DS_Store",
)  # fmt: skip


def write_archive(directory: Path, excludes: Sequence[str]) -> Path:
    """Packs all files below `directory` into a temporary tar file, except those that a pattern in `excludes`
    matches. Returns the path of the tar file, which the caller must delete.

    A pattern matches the name of a file or directory, or its path relative to `directory`. Links are packed
    as links.
    """

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        path = member.name.removeprefix("./")
        names = {path, path.rsplit("/", 1)[-1]}
        is_excluded = any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)
        is_special = not (member.isfile() or member.isdir() or member.issym() or member.islnk())
        return None if is_excluded or is_special else member

    patterns = [pattern.rstrip("/") for pattern in excludes]
    with tempfile.NamedTemporaryFile(prefix="slipway-", suffix=".tar.gz", delete=False) as file:
        try:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
                archive.add(directory, arcname=".", filter=keep)
        except BaseException:
            Path(file.name).unlink()
            raise
    return Path(file.name)

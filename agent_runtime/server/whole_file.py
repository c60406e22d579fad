"""A small file written at once: whoever reads it meanwhile finds the old or the new content."""

from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Only this user can read it. Blocking. Raises OSError."""
    partial = path.with_name(f"{path.name}.partial")
    partial.touch(mode=0o600)
    partial.write_bytes(content)
    partial.replace(path)

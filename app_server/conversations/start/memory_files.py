"""Writes the notes that agents made about a repository in earlier conversations into the checkout in a
sandbox.
"""

import io
import json
import shlex
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from app_server.agent_client.client import AgentClient
from app_server.conversations.start import repository
from app_server.memory.models import MemoryNote

DIRECTORY = ".agents/memory"

# Where the repository has notes already, these stay, and each of ours is kept out of the diff by its name.
# Everywhere else the whole directory is ours.
_PUT = f"""\
exclude="$(git rev-parse --git-path info/exclude)"
mkdir -p "$(dirname "$exclude")" {DIRECTORY}
prefix="$(git rev-parse --show-prefix)"
hide() {{ grep -qxF "$1" "$exclude" 2>/dev/null || echo "$1" >> "$exclude"; }}
if [ -z "$(git ls-files {DIRECTORY} | head -n 1)" ]; then
  hide "/$prefix{DIRECTORY}/"
  rm -f {DIRECTORY}/*.md
  tar -xf "$archive" -C {DIRECTORY}
else
  for name in $(tar -tf "$archive"); do
    git ls-files --error-unmatch -- "{DIRECTORY}/$name" >/dev/null 2>&1 && continue
    hide "/$prefix{DIRECTORY}/$name"
    tar -xf "$archive" -C {DIRECTORY} "$name"
  done
fi
rm -f "$archive"
"""


async def put_notes(
    client: AgentClient, directory: str, notes: Sequence[MemoryNote], folder: str | None = None
) -> None:
    """Writes these memory notes as files into the directory `.agents/memory` in the folder where the agent
    works, so that the agent can read them. Notes that an earlier call has written are replaced.

    Git ignores the written files, so they are in no commit and no diff. A note is not written if the
    repository contains a committed file with its name.

    `directory`: the directory of the repository in the sandbox. `folder`: the folder in which the agent
    works, relative to `directory`; None means `directory` itself.
    """
    checkout_path = PurePosixPath(directory)
    archive = str(checkout_path.parent / f".{checkout_path.name}.notes.tar")
    with tempfile.NamedTemporaryFile(prefix="slipway-notes-") as file:
        file.write(_pack(notes))
        file.flush()
        await client.upload_file(Path(file.name), archive)
    await repository.must_run(
        client, f"archive={shlex.quote(archive)}\n{_PUT}", f"{directory}/{folder}" if folder else directory
    )


def _pack(notes: Sequence[MemoryNote]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for note in notes:
            text = _render(note).encode()
            entry = tarfile.TarInfo(f"{note.name}.md")
            entry.size, entry.mtime = len(text), int(note.updated_at.timestamp())
            archive.addfile(entry, io.BytesIO(text))
    return packed.getvalue()


def _render(note: MemoryNote) -> str:
    """Returns the text of the note's file, in the file format that agent servers use for notes
    (docs/context.md).
    """
    source = note.conversation_id.hex if note.conversation_id else None
    fields = {"title": note.title, "created": note.updated_at.isoformat(timespec="seconds"), "source": source}
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value is not None]
    return "\n".join(["---", *lines, "---", "", note.text, ""])

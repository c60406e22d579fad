"""The request and reply bodies of the routes for memory notes: texts about repositories that agents write for
later conversations.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app_server.core.database import Id, Timestamp

MAX_TEXT_BYTES = 8 * 1024
MAX_TITLE_CHARACTERS = 120


def _on_one_line(title: str) -> str:
    line = " ".join("".join(each if each.isprintable() else " " for each in title).split())
    if not 0 < len(line) <= MAX_TITLE_CHARACTERS:
        raise ValueError(f"must have 1 to {MAX_TITLE_CHARACTERS} characters")
    return line


def _bounded(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain a null character")
    if not text.strip() or len(text.encode()) > MAX_TEXT_BYTES:
        raise ValueError(f"must have 1 to {MAX_TEXT_BYTES} bytes")
    return text.strip()


NoteName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
NoteTitle = Annotated[str, Field(max_length=1000), AfterValidator(_on_one_line)]
NoteText = Annotated[str, Field(max_length=MAX_TEXT_BYTES), AfterValidator(_bounded)]


class MemoryNoteSummary(BaseModel):
    """A memory note about a repository, without the note's text.

    `repository`: the repository, such as github.com/owner/name. `conversation_id`: the conversation whose
    agent wrote the note last; null if it is not known.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    repository: str
    name: str
    title: str
    conversation_id: Id | None
    created_at: Timestamp
    updated_at: Timestamp


class MemoryNoteInfo(MemoryNoteSummary):
    text: str


class MemoryProposalInfo(BaseModel):
    """A note about a repository that an agent proposes and the user has not yet accepted or rejected.

    `kind`: what the agent proposes: a new note, a change of a note, or the deletion of a note. `text`: the
    proposed text; null for a deletion. `id`: identifies this version of the proposal; if the agent proposes a
    different text, the proposal gets a new id.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    kind: Literal["new", "change", "deletion"]
    repository: str
    name: str
    title: str
    text: str | None
    conversation_id: Id
    created_at: Timestamp


class UpdateMemoryNote(BaseModel):
    """A request to change the title or the text of a stored memory note. A field that is left out or null
    does not change the note.
    """

    model_config = ConfigDict(extra="forbid")

    title: NoteTitle | None = None
    text: NoteText | None = None

"""Schemas of the notes in requests and replies."""

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
    """A note without its text. `repository`: as in github.com/owner/name. `conversation_id`: the conversation
    that wrote the note last.
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
    """A note that an agent proposes. `text` is null if it proposes a deletion. A proposal with another text
    has another id.
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
    """Changes of a note. Fields that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid")

    title: NoteTitle | None = None
    text: NoteText | None = None

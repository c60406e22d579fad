"""The models of the contents of a directory in a sandbox."""

from typing import Literal

from pydantic import AwareDatetime, BaseModel

EntryKind = Literal["directory", "file", "other"]


class DirectoryEntry(BaseModel):
    """One file or directory. For a symbolic link, `kind`, `size` and `modified_at` are those of its target.

    `kind`: `other` for everything that clients cannot open: for example a socket, or a link to a place that
    clients may not access. `size`: in bytes; null if the entry is not a file. `modified_at`: null if `kind`
    is `other`, or if the file system holds no valid time.
    """

    name: str
    kind: EntryKind
    size: int | None = None
    modified_at: AwareDatetime | None = None
    is_link: bool = False


class DirectoryPage(BaseModel):
    """A part of the contents of a directory: first its directories, then all other entries, each sorted by
    name. `next_page_id`: the `page_id` of the following page; null on the last page.
    """

    items: list[DirectoryEntry]
    next_page_id: str | None = None

"""The pages in which search routes return their results: `{items, next_page_id}`. A client passes
`next_page_id` as `page_id` to get the next page.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel

from app_server.core.errors import BadRequest

Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=100)]
_MAX_DIGITS = 9
PageId = Annotated[str | None, Query(max_length=512)]


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next_page_id: str | None = None


def encode_page_id(*position: str) -> str:
    """Returns a page id: a text that says where the next page of a list begins. Clients must not interpret
    it. `position`: the place in the list, for example the creation time and the id of the last item of this
    page.
    """
    return base64.urlsafe_b64encode("\n".join(position).encode()).decode().rstrip("=")


def decode_page_id(page_id: str, parts: int) -> tuple[str, ...]:
    """Returns the values from which `encode_page_id` has made this page id. `parts`: the expected number of
    values. Raises BadRequest `bad_page_id` if the page id is not valid.
    """
    try:
        padded = page_id + "=" * (-len(page_id) % 4)
        position = tuple(base64.urlsafe_b64decode(padded.encode()).decode().split("\n"))
    except (binascii.Error, UnicodeError):
        position = ()
    if len(position) != parts:
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id")
    return position


def page_position(page_id: str) -> tuple[datetime, UUID]:
    """Returns the creation time and the id that a page id contains. The page begins after the row with these
    values. Raises BadRequest `bad_page_id` if the page id is not valid.
    """
    moment, last_id = decode_page_id(page_id, 2)
    try:
        return datetime.fromisoformat(moment).astimezone(UTC), UUID(hex=last_id)
    except (ValueError, OverflowError):
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id") from None


def page_of(everything: Sequence[Item], page_id: str | None, limit: int) -> tuple[list[Item], str | None]:
    """Returns one page of a list that is in memory, and the id of the next page. The id is None if this is
    the last page. Raises BadRequest `bad_page_id` if `page_id` is not valid.
    """
    start = _offset(page_id) if page_id is not None else 0
    end = start + limit
    return list(everything[start:end]), encode_page_id(str(end)) if end < len(everything) else None


def _offset(page_id: str) -> int:
    (text,) = decode_page_id(page_id, parts=1)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id")
    return int(text)

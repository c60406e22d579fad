"""Tests of pages that are cut from a complete list in memory."""

import pytest

from app_server.core.errors import BadRequest
from app_server.core.pagination import encode_page_id, page_of


def test_pages_hold_each_item_once() -> None:
    pages, page_id = [], None
    while True:
        page, page_id = page_of(range(5), page_id, 2)
        pages.append(page)
        if page_id is None:
            break

    assert pages == [[0, 1], [2, 3], [4]]
    assert page_of([], None, 2) == ([], None)
    assert page_of([1, 2], None, 2) == ([1, 2], None)
    assert page_of([1], encode_page_id("7"), 2) == ([], None)


@pytest.mark.parametrize(
    "page_id", ["x", encode_page_id("-1"), encode_page_id("1" * 30), encode_page_id("²")]
)
def test_a_page_id_of_others_is_refused(page_id: str) -> None:
    with pytest.raises(BadRequest):
        page_of([1], page_id, 2)

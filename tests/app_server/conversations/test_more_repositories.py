"""Tests of the further repositories of a conversation: which ones are allowed, and in which directories they
are.
"""

import pytest

from app_server.conversations.repositories.more_repositories import (
    AnotherRepository,
    KeptRepository,
    with_directories,
    words_for_agent,
)
from app_server.core.errors import BadRequest
from app_server.git.address import parse_address

FIRST = "https://git.example/team/harbour"


def kept(*urls: str, first: str | None = FIRST) -> list[KeptRepository]:
    more = [AnotherRepository(repository=url) for url in urls]
    own = parse_address(first, None) if first else None
    return with_directories(more, [parse_address(url, None) for url in urls], own)


def test_each_has_a_directory_of_another_name() -> None:
    found = kept(
        "https://git.example/team/lamp", "https://two.example/a/harbour", "git@git.example:b/harbour"
    )
    assert [one.directory for one in found] == ["lamp", "harbour-2", "harbour-3"]
    said = words_for_agent(found) or ""
    assert "- `../harbour-2`: https://two.example/a/harbour" in said
    assert words_for_agent(kept(first=None)) is None


@pytest.mark.parametrize(
    ("urls", "first", "code"),
    [
        (["https://git.example/team/lamp"], None, "more_without_first"),
        (["https://git.example/team/harbour.git"], FIRST, "repository_twice"),
        (["https://git.example/a/b", "git@git.example:a/b.git"], FIRST, "repository_twice"),
        (["https://ada:secret@git.example/a/b"], FIRST, "repository_has_password"),
    ],
)
def test_what_cannot_be_a_further_repository_is_refused(
    urls: list[str], first: str | None, code: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        kept(*urls, first=first)
    assert refused.value.code == code

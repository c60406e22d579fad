"""Tests of `read`, which parses what git wants to have signed: it accepts only commits and tags, and returns
the people that they name.
"""

import pytest

from app_server.commit_signing.payload import GitPerson, UnsignablePayloadError, read

TREE = "tree " + "a" * 40 + "\n"
ADA = "Ada L. <ada@example.org> 1764000000 +0100\n"
EVE = "Eve <eve@example.org> 1764000000 +0100\n"


def commit(author: str = ADA, committer: str = ADA, head: str = TREE, rest: str = "\nMend\n") -> bytes:
    return f"{head}author {author}committer {committer}{rest}".encode()


def test_a_commit_names_its_author_and_its_committer() -> None:
    found = read(commit(committer=EVE, head=f"{TREE}parent {'b' * 40}\nparent {'c' * 40}\n"))
    assert (found.kind, [one.email for one in found.people]) == (
        "commit",
        ["ada@example.org", "eve@example.org"],
    )


def test_a_tag_names_its_tagger() -> None:
    found = read(f"object {'a' * 64}\ntype commit\ntag v1\ntagger {ADA}\nFirst\n".encode())
    assert (found.kind, found.people) == ("tag", (GitPerson("Ada L.", "ada@example.org"),))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"Pay 100 to Eve.\n",
        b"certificate version 0.1\npusher key 1764000000 +0100\n",
        commit(head="tree abc\n"),
        commit(head=f"{TREE}author {EVE}"),
        commit(author="Ada 1764000000 +0100\n"),
        commit(author="Ada <a> <b> 1 +0100\n"),
        commit(rest="gpgsig x\n\nMend\n"),
        f"{TREE}committer {ADA}author {ADA}\nMend\n".encode(),
    ],
)
def test_nothing_else_is_signed(payload: bytes) -> None:
    with pytest.raises(UnsignablePayloadError):
        read(payload)


def test_names_are_compared_as_git_writes_them() -> None:
    person = GitPerson("Ada L", "ada@example.org")
    assert person.is_like("Ada <L.>", "<ada@example.org>")
    assert person.is_like(None, "ada@example.org")
    assert not person.is_like("Ada", "ada@example.org")
    assert not person.is_like(None, "ada@example.com")

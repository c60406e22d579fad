"""Tests of submodules: which ones of a repository are fetched, and with which permissions."""

import time

import pytest

from app_server.conversations.repositories.submodules import MAX_SUBMODULES, submodules_in, words_about
from app_server.git.address import parse_address

PARENT = parse_address("https://git.example/team/harbour.git")


def settings(*submodules: tuple[str, str, str]) -> str:
    """Returns the text of a .gitmodules file. Each submodule is (name, path, URL)."""
    return "".join(
        f"submodule.{name}.{field}\n{value}\0"
        for name, path, url in submodules
        for field, value in (("path", path), ("url", url), ("update", "!touch /hacked"))
    )


@pytest.mark.parametrize(
    ("url", "repository", "uses_token"),
    [
        ("../lamp.git", "https://git.example/team/lamp.git", True),
        ("https://git.example/team/lamp", "https://git.example/team/lamp", True),
        ("git@git.example:team/lamp.git", "git@git.example:team/lamp.git", True),
        ("../../guild/vault", "https://git.example/guild/vault", False),
        ("../inner/vault", "https://git.example/team/inner/vault", False),
    ],
)
def test_submodules_on_the_same_host_are_fetched(url: str, repository: str, uses_token: bool) -> None:
    [found] = submodules_in(settings(("lamp", "lib/lamp", url)), PARENT, "/work/harbour")
    assert (found.reason, found.repository, found.uses_token) == (None, repository, uses_token)
    assert list(words_about([found])) == ["Submodules: lib/lamp"]


@pytest.mark.parametrize(
    ("name", "path", "url", "reason"),
    [
        ("lamp", "../lamp", "../lamp.git", "leaves the repository"),
        ("lamp", "/etc", "../lamp.git", "leaves the repository"),
        ("lamp", "-lamp", "../lamp.git", "leaves the repository"),
        ("lamp", ".GIT/hooks", "../lamp.git", "leaves the repository"),
        ("../../lamp", "lamp", "../lamp.git", "leaves the repository"),
        ("lamp", "lamp", "-u./run", "not one of a git host"),
        ("lamp", "lamp", "ext::sh -c id", "not one of a git host"),
        ("lamp", "lamp", "file:///srv/git/lamp", "not one of a git host"),
        ("lamp", "lamp", "/srv/git/lamp", "not one of a git host"),
        ("lamp", "lamp", "team/lamp", "not one of a git host"),
        ("lamp", "lamp", "https://ada:secret@git.example/team/lamp", "not one of a git host"),
        ("lamp", "lamp", "https://git.example/team/../guild/vault", "not one of a git host"),
        ("lamp", "lamp", "https://git.example/team/%2e%2e/guild/vault", "not one of a git host"),
        ("lamp", "lamp", '../"lamp', "not one of a git host"),
        ("lamp", "lamp", "https://169.254.169.254/team/lamp", "another host"),
        ("lamp", "lamp", "../../../../lamp", "another host"),
    ],
)
def test_others_are_named_with_the_reason(name: str, path: str, url: str, reason: str) -> None:
    [found] = submodules_in(settings((name, path, url)), PARENT, "/work/harbour")
    assert found.reason is not None
    assert reason in found.reason
    [told] = words_about([found])
    assert told.startswith("Without the submodule ")


def test_their_number_is_limited_and_what_is_no_submodule_is_left_out() -> None:
    many = settings(*((f"lamp{number}", f"lamp{number}", "../lamp") for number in range(60)))
    assert len(submodules_in(f"core.pager\nless\0{many}", PARENT, "/work/harbour")) == MAX_SUBMODULES
    [of_a_path] = submodules_in(settings(("a", "a", "../b")), parse_address("/srv/git/harbour"), "/work")
    assert of_a_path.reason == "a sandbox cannot reach the repository that names it"


@pytest.mark.parametrize("unit", ["@", "@a", "a@", "/.", "./"])
def test_a_hostile_url_does_not_take_long(unit: str) -> None:
    url = f"a{unit * (50_000 // len(unit))}"
    begun = time.perf_counter()

    [found] = submodules_in(settings(("lamp", "lamp", url)), PARENT, "/work/harbour")

    assert found.reason is not None
    assert time.perf_counter() - begun < 2

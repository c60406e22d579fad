"""Tests of the fields at the top of small text files, in the agent server and in the app server."""

import time
from typing import Any

import pytest

from agent_runtime.workspace.front_matter import split
from app_server.skills.catalogue import front_matter, front_matter_size


@pytest.mark.parametrize(
    ("text", "fields", "rest"),
    [
        ("---\nname: a\n---\nRead.", {"name": "a"}, "Read."),
        ("---\r\nname: a\r\n---\r\nRead.", {"name": "a"}, "Read."),
        ("---  \n\n\nname: a\n\n---\t\n\n\nRead.", {"name": "a"}, "Read."),
        ("---\nname: a\n---", {"name": "a"}, ""),
        ("--- name: a\n---\nRead.", {}, "--- name: a\n---\nRead."),
        ("---\nname: a", {}, "---\nname: a"),
    ],
)
def test_the_fields_are_the_same_on_both_sides(text: str, fields: dict[str, Any], rest: str) -> None:
    assert split(text) == (fields, rest)
    assert front_matter(text) == fields


@pytest.mark.parametrize("unit", ["\n", " \n", "\r\n", "\n---x", "\n---  x", " ", "\n\t---\n"])
def test_a_hostile_file_does_not_take_long(unit: str) -> None:
    text = f"---{unit * (200_000 // len(unit))}x"
    begun = time.perf_counter()

    front_matter_size(text)
    split(text)

    assert time.perf_counter() - begun < 2

"""Tests of which broken arguments of tool calls are repaired, and which are not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_runtime.calls_in_text.arguments import object_of


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'b'}", {"a": "b"}),
        ('{"a": True, "b": None}', {"a": True, "b": None}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "whole"', {"a": "whole"}),
        ('{"a": ["b", "c"}', {"a": ["b", "c"]}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
    ],
)
def test_what_was_surely_meant_is_understood(written: str, meant: object):
    assert object_of(written) == meant


@pytest.mark.parametrize(
    "written",
    [
        '{"command": "rm -rf /tmp/some',
        '{"command": ',
        '{"command"',
        '{"timeout": 3',
        "[1, 2]",
        "null",
        "17",
        "just words",
        '{"a": 1} {"b": 2',
        "{" * 5000,
        '{"a":' * 400 + "1" + "}" * 400,
        '{"a":' * 5000 + '"b"' + "}" * 4000,
    ],
)
def test_what_would_be_guessed_is_not(written: str):
    assert object_of(written) is None


@settings(max_examples=3000, deadline=None)
@given(
    st.text(max_size=60)
    | st.text(alphabet="{}[]\",:'\\ \nabcTruefalsn019", max_size=60).map(lambda text: "{" + text)
)
def test_no_text_does_harm(written: str):
    assert isinstance(object_of(written), dict | None)

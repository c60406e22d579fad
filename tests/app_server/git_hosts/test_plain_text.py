"""Tests of converting HTML and logs of git hosts to plain text."""

import time

import pytest

from app_server.git_hosts.plain_text import MAX_LOG_BYTES, end_of_log, from_html, to_html


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two &amp; three</p>", "One\n\nTwo & three"),
        ("<div>a<br/>b</div><div>c</div>", "a\nb\n\nc"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ('<a href="https://x">here</a> <a href="https://y">https://y</a>', "here (https://x) https://y"),
        ('<img src="https://i/1.png"><script>evil()</script><style>p{}</style>', "(https://i/1.png)"),
        ("plain < text", "plain < text"),
        ("a<!-- <b>no</b> -->b<!-- c", "ab"),
        ("<!doctype html><?xml:namespace prefix=o ?><o:p>Word</o:p> 1 <2 and <b>3</b>", "Word 1 <2 and 3"),
        ("<p>not closed <b>bold", "not closed bold"),
        ("", ""),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert from_html(html) == text


def test_text_is_shown_in_html_as_it_is() -> None:
    assert to_html("a <b>\n& c") == "a &lt;b&gt;<br>&amp; c"
    assert from_html(to_html("a <b>\n& c")) == "a <b>\n& c"


@pytest.mark.parametrize("unit", ["<", "<a ", "<a='", "<!--", "<!", "<?", "</a ", "<script>", '<a b=">'])
def test_hostile_html_does_not_take_long(unit: str) -> None:
    begun = time.perf_counter()

    from_html(unit * (200_000 // len(unit)))

    assert time.perf_counter() - begun < 2


def test_the_marks_of_sections_are_left_out_of_a_log() -> None:
    log = (
        b"\x1b[0Ksection_start:15:build\r\x1b[0K\x1b[36mBuild\x1b[0m\nsection_end:16:build\r\nsection_end:1:x"
    )

    assert end_of_log(log) == "Build\n\nsection_end:1:x"


@pytest.mark.parametrize(
    "unit", [b"section_start:1:", b"section_start:1", b"\x1b[0;1", b"section_end:1:\x1b[1"]
)
def test_a_hostile_log_does_not_take_long(unit: bytes) -> None:
    begun = time.perf_counter()

    end_of_log(unit * (2 * MAX_LOG_BYTES // len(unit)))

    assert time.perf_counter() - begun < 1


def test_the_end_of_a_log_is_kept_without_colours() -> None:
    log = b"\xff" * 300_000 + "ä\n\x1b[31mred\x1b[0m".encode()
    kept = end_of_log(log)
    assert kept.endswith("ä\nred")
    assert len(kept.encode()) <= MAX_LOG_BYTES

"""Tests of converting HTML and logs of git hosts to plain text."""

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
        ("<p>not closed <b>bold", "not closed bold"),
        ("", ""),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert from_html(html) == text


def test_text_is_shown_in_html_as_it_is() -> None:
    assert to_html("a <b>\n& c") == "a &lt;b&gt;<br>&amp; c"
    assert from_html(to_html("a <b>\n& c")) == "a <b>\n& c"


def test_the_end_of_a_log_is_kept_without_colours() -> None:
    log = b"\xff" * 300_000 + "ä\n\x1b[31mred\x1b[0m".encode()
    kept = end_of_log(log)
    assert kept.endswith("ä\nred")
    assert len(kept.encode()) <= MAX_LOG_BYTES

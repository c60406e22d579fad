"""Tests of the cost of masking, and of texts that masking must not change."""

import time
from collections.abc import Callable

import pytest

from agent_runtime.secrets.masking import MASK, Masker, StreamMask

SECRET = "s3cr3t-t0ken_of/the.user+0123456789abcdef"
LINES = (
    "src/app/main.py:12:    return value % 20 == 0\n"
    "00000000: 7468 6520 7175 6963 6b20 6272 6f77 6e20  the quick brown \n"
    '{"path": "C:\\\\work", "text": "a\\nb", "url": "https://x.example/a%20b?c=d&e=f"}\n'
    "     7\tdef deadbeef(cafe: int) -> None: ...\n"
    "12 15 99 104 7 8 23 41 1000 20\n"
    "VGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZwo=\n\n"
)
MB = 1_000_000


def masker_of(*values: str) -> Masker:
    masker = Masker()
    masker.learn(values)
    return masker


def text_of(size: int) -> str:
    return (LINES * (size // len(LINES) + 1))[:size]


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def stream(masker: Masker, text: str, size: int) -> str:
    mask = StreamMask(lambda: masker)
    pieces = [mask.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join([*pieces, mask.flush()])


def test_four_times_the_text_takes_about_four_times_as_long():
    masker = masker_of(SECRET)
    few = min(seconds(lambda: masker.text(text_of(MB // 4))) for _ in range(2))
    assert seconds(lambda: masker.text(text_of(MB))) < 10 * few


def test_four_times_the_stream_takes_about_four_times_as_long():
    masker = masker_of(SECRET)
    few = min(seconds(lambda: stream(masker, text_of(MB // 16), 4096)) for _ in range(2))
    assert seconds(lambda: stream(masker, text_of(MB // 4), 4096)) < 10 * few


@pytest.mark.parametrize(
    "endless", ["7", "73 ", "s", "\\", "00000000: 73", "1", "1, ", " ", "%", "&#", "a" * 40 + "\n", "   s"]
)
def test_what_goes_on_for_ever_is_not_held_for_ever(endless: str):
    """With an endless text, each piece costs as much as the piece before, and only a little text is held
    back.
    """
    masker = masker_of(SECRET, "7" * 20, "s" * 20)
    mask = StreamMask(lambda: masker)
    for _ in range(10):
        mask.feed((endless * 4000)[:4000])
        assert len(mask._held) < 12_000


def test_five_megabytes_keep_their_text_and_lose_their_secret():
    masker = masker_of(SECRET)
    text = text_of(5 * MB // 2) + f"\n{SECRET}\n" + text_of(5 * MB // 2)
    assert stream(masker, text, 1 << 16) == text.replace(SECRET, MASK)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hello world", "helloworld and hello  world"),
        ("production", "pro duction, pro-duction, product ion"),
        ("password", "pass word"),
        ("test", "t e s t, 74657374, t\nest"),
        ("abc", "abc"),
        ("12345678", "31 32 33 34, 1 2 3 4"),
        ("deadbeef", "dead beef"),
        ("node_modules", "node modules"),
    ],
)
def test_ordinary_text_stays_as_it_is(value: str, text: str):
    said = masker_of(value).text(text)
    if value == "test":  # a short secret is masked only in one piece, also encoded
        assert said == text.replace("74657374", MASK)
    else:
        assert said == text


def test_output_of_programs_stays_as_it_is():
    masker = masker_of(SECRET, "correct-horse-battery", "x" * 64)
    assert masker.text(text_of(20_000)) == text_of(20_000)


@pytest.mark.parametrize("value", ["secret-hidden", "<secret-hidden>", "hidden"])
def test_a_value_that_is_part_of_the_mask_takes_nothing_along(value: str):
    masker = masker_of(value, SECRET)
    assert masker.text(f"a \\n b {SECRET} c") == f"a \\n b {MASK} c"

"""Tests of pages that the gateway rewrites: pieces may end anywhere, and hostile pages do not take long."""

import time

import pytest

from app_server.gateway.rewriting import Addition, PageRewriter

ADDITION = Addition(b"<script>added()</script>", (), "/preview/x")
BOUND_SECONDS = 2
"""Far more than a page of 256 KB needs, also on a slow machine."""
PAGE = (
    b"<!DOCTYPE html><!-- no <a href='/tag'> --><!--><html lang='a>b'><HEAD>"
    b"<script src='/a.js'></script>"
    b'<img alt="1 > 0 < 2" src = "/b.png"><a href=//elsewhere>'
    b"<a href=/c title='<'>1 < 2 <3</a><i x= \n'>' ></i>"
)
REWRITTEN = (
    b"<!DOCTYPE html><!-- no <a href='/tag'> --><!--><html lang='a>b'><HEAD><script>added()</script>"
    b"<script src='/preview/x/a.js'></script>"
    b'<img alt="1 > 0 < 2" src = "/preview/x/b.png"><a href=//elsewhere>'
    b"<a href=/preview/x/c title='<'>1 < 2 <3</a><i x= \n'>' ></i>"
)


def rewritten(page: bytes, size: int) -> bytes:
    rewriter = PageRewriter(ADDITION)
    pieces = [rewriter.feed(page[at : at + size]) for at in range(0, len(page), size)]
    return b"".join([*pieces, rewriter.end()])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 1000])
def test_a_page_in_pieces_is_rewritten_like_a_whole_page(size: int) -> None:
    assert rewritten(PAGE, size) == REWRITTEN


@pytest.mark.parametrize("size", [1, 1000])
def test_a_comment_that_does_not_end_stays_as_it_is(size: int) -> None:
    assert rewritten(b"<p><!-- <a href='/x'> --", size) == ADDITION.head + b"<p><!-- <a href='/x'> --"


def test_an_apostrophe_in_a_text_hides_no_later_tag() -> None:
    page = b"<p>if i <n it's more</p><a href='/x'>"

    assert rewritten(page, 4).endswith(b"<a href='/preview/x/x'>")


def test_little_of_a_tag_that_does_not_end_is_held_back() -> None:
    rewriter = PageRewriter(ADDITION)
    passed = b"".join(rewriter.feed(b'<a title="' + b"x" * 1000) for _ in range(300))
    whole = b"".join([passed, rewriter.end()])

    assert len(passed) > 200_000
    assert whole.replace(ADDITION.head, b"") == (b'<a title="' + b"x" * 1000) * 300


@pytest.mark.parametrize("size", [4096, 262_144])
@pytest.mark.parametrize(
    "unit",
    [
        b"a",
        b"<",
        b"<a",
        b"<a ",
        b"<a '",
        b"<a =",
        b"<a ='",
        b"<a ='\"",
        b"<!--",
        b"<!doctype",
        b"<!doctype ",
        b" src",
        b" src =",
        b"= ",
    ],
)
def test_a_hostile_page_does_not_take_long(unit: bytes, size: int) -> None:
    page = b"<a " + unit * (262_144 // len(unit))
    begun = time.perf_counter()

    rewritten(page[2:] if unit.startswith(b"<") else page, size)

    assert time.perf_counter() - begun < BOUND_SECONDS

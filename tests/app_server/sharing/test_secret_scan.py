"""Tests of the search for secrets in texts: what follows an image is searched, and hostile texts do not take
long.
"""

import base64
import time

import pytest

from app_server.conversations.sharing.secret_scan import HIDDEN, SecretScan

IMAGE = f"data:image/png;base64,{base64.b64encode(b'pixels' * 20).decode()}"
GITHUB_TOKEN = f"ghp_{'a1B2c3' * 6}"
SIGNED_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl-abc_1"
BOUND_SECONDS = 2
"""Far more than a text of 1 MB needs, also on a slow machine."""


@pytest.mark.parametrize("between", [" ", "\n", "", "=\n", "==="])
def test_a_secret_behind_an_image_is_found_and_hidden(between: str) -> None:
    scan = SecretScan({"DEPLOY_KEY": "open-sesame-42"})
    text = f"{IMAGE}{between or '=, '}{GITHUB_TOKEN} open-sesame-42"

    assert {match.kind for match in scan.matches(text)} >= {"github_token", "saved_secret"}
    assert GITHUB_TOKEN not in scan.hide(text)
    assert "open-sesame-42" not in scan.hide(text)


def test_a_whole_image_stays_as_it_is() -> None:
    # The base64 text of this image contains the form of a key.
    image = f"data:image/svg+xml;base64,/{GITHUB_TOKEN.replace('_', '/')}/AKIAABCDEFGHIJKLMNOP/=="

    assert SecretScan({}).hide(image) == image
    assert not list(SecretScan({}).matches(image))


@pytest.mark.parametrize("before", ["", " ", "a-", "token=", "--session-", "."])
def test_a_signed_token_is_hidden(before: str) -> None:
    assert SecretScan({}).hide(f"{before}{SIGNED_TOKEN} and") == f"{before}{HIDDEN} and"


@pytest.mark.parametrize(
    "unit",
    ["-eyJ", "eyJ-", ".eyJaaaaaaaaaaaaa", "-----BEGIN PRIVATE KEY-----", "://", "password", "token=a", IMAGE],
)
def test_a_hostile_text_does_not_take_long(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    begun = time.perf_counter()

    SecretScan({}).hide(text)

    assert time.perf_counter() - begun < BOUND_SECONDS

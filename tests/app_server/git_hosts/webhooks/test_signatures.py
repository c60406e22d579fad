"""Tests of webhook signatures for each provider: a valid one is accepted; a changed byte, an old delivery or
a missing secret is refused.
"""

import base64
import hashlib
import hmac

import pytest

from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks.signatures import verify

NOW = 1_800_000_000.0
BODY = '{"text": "grün"}'.encode()
SECRET = "s3cret-ü"
KEY = bytes(range(32))
SIGNING = "whsec_" + base64.b64encode(KEY).decode()
BASIC = "slipway:s3cret:ü"


def hexed(secret: str = SECRET, body: bytes = BODY) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def gitlab(sent_at: str = str(int(NOW)), body: bytes = BODY) -> dict[str, str]:
    signed = hmac.new(KEY, f"id-1.{sent_at}.".encode() + body, hashlib.sha256).digest()
    mark = "v1," + base64.b64encode(signed).decode()
    return {"webhook-id": "id-1", "webhook-timestamp": sent_at, "webhook-signature": mark}


GENUINE = [
    (GitProvider.GITHUB, {"x-hub-signature-256": f"sha256={hexed()}"}, SECRET),
    (GitProvider.GITLAB, gitlab(), SIGNING),
    (GitProvider.GITLAB, {"x-gitlab-token": SECRET}, SECRET),
    (GitProvider.BITBUCKET, {"x-hub-signature": f"sha256={hexed()}"}, SECRET),
    (GitProvider.BITBUCKET_DATA_CENTER, {"x-hub-signature": f"sha256={hexed()}"}, SECRET),
    (
        GitProvider.AZURE_DEVOPS,
        {"authorization": "Basic " + base64.b64encode(BASIC.encode()).decode()},
        BASIC,
    ),
    (GitProvider.FORGEJO, {"x-forgejo-signature": hexed(), "x-gitea-signature": "no"}, SECRET),
    (GitProvider.FORGEJO, {"x-gitea-signature": hexed()}, SECRET),
]
SIGNED = [one for one in GENUINE if one[1].keys().isdisjoint({"x-gitlab-token", "authorization"})]
genuine = pytest.mark.parametrize(("provider", "headers", "secret"), GENUINE)


@genuine
def test_genuine_deliveries_are_known(provider: GitProvider, headers: dict[str, str], secret: str) -> None:
    assert verify(provider, headers, BODY, [secret], NOW)
    another = "whsec_" + base64.b64encode(b"another").decode() if secret == SIGNING else "another"
    assert verify(provider, headers, BODY, [another, secret], NOW), "the secret before still counts"
    assert not verify(provider, headers, BODY, [another], NOW)


@genuine
def test_without_a_secret_nothing_is_genuine(
    provider: GitProvider, headers: dict[str, str], secret: str
) -> None:
    for secrets in ([], [""]):
        assert not verify(provider, headers, BODY, secrets, NOW)
    assert not verify(provider, {}, BODY, [secret], NOW)


@pytest.mark.parametrize(
    ("provider", "headers"),
    [
        # The signature that Gitea sends if its secret is empty, and signatures that are made with an empty
        # secret.
        (GitProvider.FORGEJO, {"x-gitea-signature": "", "x-hub-signature-256": "sha256="}),
        (GitProvider.FORGEJO, {"x-forgejo-signature": hexed("")}),
        (GitProvider.GITHUB, {"x-hub-signature-256": f"sha256={hexed('')}"}),
        (GitProvider.GITLAB, {"x-gitlab-token": ""}),
        (GitProvider.AZURE_DEVOPS, {"authorization": "Basic "}),
    ],
)
def test_an_empty_secret_matches_nothing(provider: GitProvider, headers: dict[str, str]) -> None:
    for secrets in ([""], [SECRET], []):
        assert not verify(provider, headers, BODY, secrets, NOW)


@pytest.mark.parametrize(("provider", "headers", "secret"), SIGNED)
def test_a_flipped_bit_of_the_body_is_found(
    provider: GitProvider, headers: dict[str, str], secret: str
) -> None:
    for at in range(len(BODY)):
        flipped = BODY[:at] + bytes([BODY[at] ^ 1]) + BODY[at + 1 :]
        assert not verify(provider, headers, flipped, [secret], NOW)


@genuine
def test_a_changed_character_of_the_signature_is_found(
    provider: GitProvider, headers: dict[str, str], secret: str
) -> None:
    for name, value in headers.items():
        if name == "x-gitea-signature" and "x-forgejo-signature" in headers:
            continue
        for changed in (value[:-1], value + "0", value.swapcase(), "ü" + value[1:]):
            is_same = changed == value
            assert verify(provider, {**headers, name: changed}, BODY, [secret], NOW) is is_same


def test_one_of_several_signatures_is_enough() -> None:
    headers = gitlab()
    headers["webhook-signature"] = f"v1,other {headers['webhook-signature']} v2,another"
    assert verify(GitProvider.GITLAB, headers, BODY, [SIGNING], NOW)


@pytest.mark.parametrize("seconds", [301, -301])
def test_old_and_future_deliveries_are_refused(seconds: int) -> None:
    assert not verify(GitProvider.GITLAB, gitlab(str(int(NOW) + seconds)), BODY, [SIGNING], NOW)


@pytest.mark.parametrize("sent_at", ["", "-5", "1e9", "٣", "9" * 400])
def test_odd_times_are_refused(sent_at: str) -> None:
    assert not verify(GitProvider.GITLAB, gitlab(sent_at), BODY, [SIGNING], NOW)


def test_the_old_token_is_no_way_around_the_signature() -> None:
    headers = {"x-gitlab-token": SIGNING}
    assert not verify(GitProvider.GITLAB, headers, BODY, [SIGNING], NOW)
    assert not verify(GitProvider.GITLAB, {"x-gitlab-token": SECRET}, BODY, [SIGNING, SECRET], NOW)


@pytest.mark.parametrize("secret", ["whsec_", "whsec_%%%", "whsec_ü"])
def test_broken_signing_secrets_match_nothing(secret: str) -> None:
    assert not verify(GitProvider.GITLAB, gitlab(), BODY, [secret], NOW)


def test_another_header_of_github_does_not_count() -> None:
    old = hmac.new(SECRET.encode(), BODY, "sha1").hexdigest()
    assert not verify(GitProvider.GITHUB, {"x-hub-signature": f"sha1={old}"}, BODY, [SECRET], NOW)

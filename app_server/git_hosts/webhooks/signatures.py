"""Checks whether the sender of a webhook delivery knows the secret of the webhook. Does no I/O. Each git host
proves with the value of a header that it knows the secret:

provider        header                      value
GitHub          X-Hub-Signature-256         `sha256=` and the HMAC of the body in hexadecimal digits
GitLab          webhook-signature           `v1,` and the HMAC of `id.timestamp.body` in Base64
GitLab          X-Gitlab-Token              the secret, if the secret does not begin with `whsec_`
Bitbucket       X-Hub-Signature             `sha256=` and the HMAC of the body in hexadecimal digits
Azure DevOps    Authorization               HTTP Basic authentication; the secret is `user:password`
Forgejo         X-Forgejo-Signature         the HMAC of the body in hexadecimal digits
Gitea           X-Gitea-Signature           the HMAC of the body in hexadecimal digits
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence

from app_server.git.providers import GitProvider
from app_server.git_hosts.webhooks.events import Headers

MAX_AGE_SECONDS = 300
_SIGNING = "whsec_"


def verify(provider: GitProvider, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> bool:
    """Returns whether the sender of the webhook delivery (`headers` and `body`) knows one of the secrets. The
    module's table states how each git host proves this.

    `body`: the bytes as they arrived, before any parsing. `secrets`: the current secret of the webhook and,
    for some time after a change of the secret, the previous one; empty secrets are ignored. `now`: the
    present time in epoch seconds. It is used only for GitLab's signature, which contains the time of sending.
    Returns False if this time differs from `now` by more than five minutes.

    Returns False for the test request of Bitbucket Data Center (`diagnostics:ping`), because it is not
    signed.
    """
    given = [secret for secret in secrets if secret]
    if provider is GitProvider.GITLAB and any(secret.startswith(_SIGNING) for secret in given):
        # The old header is no way around the signature.
        given = [secret for secret in given if secret.startswith(_SIGNING)]
        return any(_signed_by_gitlab(headers, body, secret, now) for secret in given)
    return any(_CHECKS[provider](headers, body, secret) for secret in given)


def _hmac(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def _github(headers: Headers, body: bytes, secret: str) -> bool:
    return _same(headers.get("x-hub-signature-256", ""), f"sha256={_hmac(secret, body)}")


def _bitbucket(headers: Headers, body: bytes, secret: str) -> bool:
    return _same(headers.get("x-hub-signature", ""), f"sha256={_hmac(secret, body)}")


def _forgejo(headers: Headers, body: bytes, secret: str) -> bool:
    # Forgejo also sends Gitea's header. If Forgejo's own header is present, only that one is checked.
    name = "x-forgejo-signature" if "x-forgejo-signature" in headers else "x-gitea-signature"
    return _same(headers.get(name, ""), _hmac(secret, body))


def _azure(headers: Headers, body: bytes, secret: str) -> bool:
    return _same(headers.get("authorization", ""), f"Basic {base64.b64encode(secret.encode()).decode()}")


def _token_of_gitlab(headers: Headers, body: bytes, secret: str) -> bool:
    return _same(headers.get("x-gitlab-token", ""), secret)


def _signed_by_gitlab(headers: Headers, body: bytes, secret: str, now: float) -> bool:
    sent_at = headers.get("webhook-timestamp", "")
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 16):
        return False
    if abs(now - int(sent_at)) > MAX_AGE_SECONDS:
        return False
    try:
        key = base64.b64decode(secret.removeprefix(_SIGNING), validate=True)
    except (binascii.Error, ValueError):
        return False
    if not key:
        return False
    signed = f"{headers.get('webhook-id', '')}.{sent_at}.".encode() + body
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(_same(one, f"v1,{wanted}") for one in headers.get("webhook-signature", "").split())


_CHECKS: dict[GitProvider, Callable[[Headers, bytes, str], bool]] = {
    GitProvider.GITHUB: _github,
    GitProvider.GITLAB: _token_of_gitlab,
    GitProvider.BITBUCKET: _bitbucket,
    GitProvider.BITBUCKET_DATA_CENTER: _bitbucket,
    GitProvider.AZURE_DEVOPS: _azure,
    GitProvider.FORGEJO: _forgejo,
}

"""Signs the webhooks that Slipway sends, as the Standard Webhooks specification describes."""

import base64
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_secret() -> str:
    """Returns a new secret for signing webhooks: `whsec_` and 32 random bytes in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signed_headers(message_id: str, timestamp: int, body: bytes, keys: Sequence[str]) -> dict[str, str]:
    """Returns the HTTP headers of a webhook request: `webhook-id`, `webhook-timestamp` and
    `webhook-signature`. The last one contains one signature for each key. Each signature covers the message's
    id, the timestamp and the body.

    `timestamp`: seconds since 1970. `keys`: the secrets of the webhook, each in the form `whsec_` and base64.
    There are two keys for some time after a secret was replaced.
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = [
        "v1,"
        + base64.b64encode(hmac.digest(base64.b64decode(key.removeprefix(PREFIX)), signed, "sha256")).decode()
        for key in keys
    ]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }

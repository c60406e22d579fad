"""The keys that open this server, of which the first is also what it shows to the app server."""

import hmac
import time
from collections.abc import Callable, Sequence
from typing import Literal
from urllib.parse import urlsplit

from agent_runtime.server.config import Config

OVERLAP_SECONDS = 30.0
"""How long a replaced key still opens: for requests that were on their way with it."""

Verdict = Literal["accepted", "expired", "wrong"]


class SessionKeys:
    """Those of `config`, until a caller that holds one replaces it. Without keys every caller is let in."""

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._report_url = config.report_url
        self._clock = clock
        # Each with the moment from which on it does not open; None: there is none.
        self._keys: dict[str, float | None] = dict.fromkeys(config.session_keys)

    @property
    def accepted(self) -> Sequence[str]:
        """Those that open now, the present one first."""
        return [key for key in self._keys if not self._is_expired(key)]

    @property
    def present(self) -> str | None:
        return next(iter(self._keys), None)

    def judge(self, given: str | None) -> Verdict:
        """In a time that does not tell how nearly `given` is one of them."""
        if not self._keys:
            return "accepted"
        matches = [key for key in self._keys if _is_same(given, key)]
        if not matches:
            return "wrong"
        return "expired" if self._is_expired(matches[0]) else "accepted"

    def may_replace(self, given: str | None) -> bool:
        """The present key may, even when it has expired: who renews it may have been away for long."""
        return self.present is not None and _is_same(given, self.present)

    def replace(self, key: str, seconds: float | None) -> None:
        """From now on `key` is the one, for `seconds` (None: without end); others end within moments."""
        now = self._clock()
        ending = {
            old: now + OVERLAP_SECONDS if end is None else min(end, now + OVERLAP_SECONDS)
            for old, end in self._keys.items()
            if old != key and not self._is_expired(old)
        }
        self._keys = {key: None if seconds is None else now + seconds, **ending}

    def credential_for(self, url: str) -> str | None:
        """The present key for URLs of the app server's origin, and nothing for other URLs."""
        if self._report_url is None or _origin(url) != _origin(self._report_url):
            return None
        return self.present

    def _is_expired(self, key: str) -> bool:
        end = self._keys[key]
        return end is not None and self._clock() >= end


def _is_same(given: str | None, key: str) -> bool:
    return hmac.compare_digest((given or "").encode(), key.encode())


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)

"""Stores the session keys. A client of this server must send one of these keys with each request. The server
also sends the current key with its requests to the app server.
"""

import hmac
import time
from collections.abc import Callable, Sequence
from typing import Literal
from urllib.parse import urlsplit

from agent_runtime.server.config import Config

OVERLAP_SECONDS = 30.0
"""The number of seconds for which a replaced key stays valid, so that requests that were already sent with it
are accepted.
"""

Verdict = Literal["accepted", "expired", "wrong"]


class SessionKeys:
    """The valid session keys of this server (the keys that callers must send): at first the keys in `config`,
    later the keys that replace the first keys.

    If there are no keys, every caller is accepted.
    """

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._report_url = config.report_url
        self._clock = clock
        # Each key with the time of its expiry; None: it does not expire.
        self._keys: dict[str, float | None] = dict.fromkeys(config.session_keys)

    @property
    def accepted(self) -> Sequence[str]:
        """The session keys (the keys that callers must send) that are valid at this moment, the current key
        first.
        """
        return [key for key in self._keys if not self._is_expired(key)]

    @property
    def present(self) -> str | None:
        return next(iter(self._keys), None)

    def judge(self, given: str | None) -> Verdict:
        """Returns whether the session key `given` (the key that a caller has sent) is accepted, expired or
        wrong. `given`: None if the caller has sent no key.

        The comparison takes constant time. So its duration does not show a caller how similar `given` is to a
        valid key.
        """
        if not self._keys:
            return "accepted"
        matches = [key for key in self._keys if _is_same(given, key)]
        if not matches:
            return "wrong"
        return "expired" if self._is_expired(matches[0]) else "accepted"

    def may_replace(self, given: str | None) -> bool:
        """Returns whether a caller with the key `given` may replace the current session key (the key that
        callers must send). Only a caller with the current key may do this. The current key is accepted here
        even if it has expired, because the app server may not have reached this server in time to extend the
        key.
        """
        return self.present is not None and _is_same(given, self.present)

    def replace(self, key: str, seconds: float | None) -> None:
        """Makes `key` the current session key (the key that callers must send). `seconds`: how long it is
        valid; None means that it never expires.

        The replaced key and older keys expire after OVERLAP_SECONDS.
        """
        now = self._clock()
        ending = {
            old: now + OVERLAP_SECONDS if end is None else min(end, now + OVERLAP_SECONDS)
            for old, end in self._keys.items()
            if old != key and not self._is_expired(old)
        }
        self._keys = {key: None if seconds is None else now + seconds, **ending}

    def credential_for(self, url: str) -> str | None:
        """Returns the key to send with a request to `url`. For URLs of the app server, this is the current
        session key (the key that this server and the app server share). Returns None for all other URLs.
        """
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

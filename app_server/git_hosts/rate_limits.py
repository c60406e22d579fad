"""Stores how many more calls a git host accepts with a token. The numbers come from the headers of the host's
replies. They are stored in the memory of this app server.

GitHub uses the headers `x-ratelimit-*`; the end of the period is in epoch seconds. GitLab uses `RateLimit-*`.
Bitbucket and Azure DevOps use `X-RateLimit-*`. All hosts also send `Retry-After`. Azure DevOps sends
`Retry-After` even with successful replies.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import httpx

MAX_TOKENS = 10_000
_LEAST_WAIT_SECONDS = 60.0
_MAX_WAIT_SECONDS = 3600.0


@dataclass(frozen=True)
class Allowance:
    """The rate limit that a git host stated last for a token. `limit`: how many calls the host accepts in one
    period. `remaining`: how many calls the host still accepts in this period. `resets_at`: the end of the
    period. `limit`, `remaining` and `resets_at` are None if the host did not state them. `blocked_until`: the
    time until which the host accepts no calls; 0 if the host accepts calls. Times are in epoch seconds.
    """

    limit: int | None = None
    remaining: int | None = None
    resets_at: float | None = None
    blocked_until: float = 0.0


class RateLimits:
    """The rate limits that git hosts stated last, one for each host and token. `now`: returns epoch seconds;
    tests replace this function.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._seen: OrderedDict[str, Allowance] = OrderedDict()

    def wait_seconds(self, key: str) -> float:
        """Returns how many seconds a caller must wait before the next call to a git host with a certain
        token. Returns 0 if a call may be made now. `key`: a text that identifies the host and the token.
        """
        return max(0.0, self.of(key).blocked_until - self._now())

    def of(self, key: str) -> Allowance:
        """Returns the rate limit that a git host stated last for a token. If the host has stated none yet,
        returns an Allowance whose numbers are None and which permits calls. `key`: a text that identifies the
        host and the token.
        """
        return self._seen.get(key, Allowance())

    def note(self, key: str, reply: httpx.Response) -> float:
        """Stores the rate limit that the headers of a reply state. If the reply refuses the call because of
        the rate limit, returns for how many seconds the git host accepts no more calls. Otherwise returns 0.
        `key`: a text that identifies the host and the token.
        """
        limit, remaining, reset = _numbers(reply.headers)
        now = self._now()
        resets_at = reset if reset is None or reset > now / 2 else now + reset
        wait = _retry_after(reply.headers, now)
        if is_limit := _is_limit(reply, remaining):
            if wait is None and resets_at is not None and remaining == 0:
                wait = resets_at - now
            wait = _LEAST_WAIT_SECONDS if wait is None else wait
        wait = min(max(wait or 0.0, 0.0), _MAX_WAIT_SECONDS)
        if is_limit or wait or remaining is not None:
            self._seen[key] = Allowance(limit, remaining, resets_at, now + wait if wait else 0.0)
            self._seen.move_to_end(key)
            while len(self._seen) > MAX_TOKENS:
                self._seen.popitem(last=False)
        return wait if is_limit else 0.0


def _is_limit(reply: httpx.Response, remaining: int | None) -> bool:
    if reply.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return True
    if reply.status_code == httpx.codes.FORBIDDEN:
        return remaining == 0 or "retry-after" in reply.headers
    return reply.status_code == httpx.codes.SERVICE_UNAVAILABLE and "retry-after" in reply.headers


def _numbers(headers: httpx.Headers) -> tuple[int | None, int | None, float | None]:
    def number(name: str) -> int | None:
        text = headers.get(f"x-ratelimit-{name}") or headers.get(f"ratelimit-{name}") or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None

    return number("limit"), number("remaining"), number("reset")


def _retry_after(headers: httpx.Headers, now: float) -> float | None:
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return parsedate_to_datetime(text).timestamp() - now if text else None
    except ValueError:
        return None

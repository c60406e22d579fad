"""Finds secrets in texts: values that are known to be secret, and texts that look like a key, a token or a
password. Does no I/O.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app_server.http.response_redaction import MIN_CHARACTERS, ResponseRedaction

HIDDEN: Final = "<secret-hidden>"
KNOWN_KIND: Final = "saved_secret"

# A match stops at the next beginning of a key, so that the time grows linearly with the text.
_PRIVATE_KEY: Final = (
    r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----BEGIN)[\s\S]){20,8000}?"
    r"(?:-----END [A-Z ]{0,30}-----|\Z))"
)
_ASSIGNED: Final = (
    r"(?i)(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)[\w.-]{0,20}[\"']?"
    r"\s{0,3}[:=]{1,2}\s{0,3}[\"']?([^\s\"'`,;:<>(){}\[\]$\\/]{8,200})"
)
# A search begins only where a word begins, and its quantifiers are possessive, for the same reason.
_SIGNED: Final = r"(?<![\w-])(?:[\w-]{0,100}?-)?(eyJ[\w-]{10,5000}+\.eyJ[\w-]{10,5000}+\.[\w-]{10,5000}+)"

_PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "private_key",
            _PRIVATE_KEY,
        ),
        ("aws_access_key", r"\b((?:AKIA|ASIA)[0-9A-Z]{16})\b"),
        ("github_token", r"\b(gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255})\b"),
        ("gitlab_token", r"\b(gl[a-z]{2,6}-[\w-]{20,255})"),
        ("slack_token", r"\b(xox[abeoprs]-[\w-]{10,255})"),
        ("slack_webhook", r"(https://hooks\.slack\.com/services/[\w/-]{20,255})"),
        ("model_key", r"\b(sk-[A-Za-z0-9_-]{20,255})"),
        ("google_key", r"\b(AIza[\w-]{35})"),
        ("stripe_key", r"\b([rs]k_live_[A-Za-z0-9]{16,255})"),
        ("package_registry_token", r"\b(npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,255})"),
        ("hugging_face_token", r"\b(hf_[A-Za-z0-9]{30,255})"),
        ("slipway_key", r"\b(slw_[\w-]{43})"),
        ("signed_token", _SIGNED),
        ("password_in_url", r"://[^\s/:@]{0,100}:([^\s/:@]{3,200})@"),
        (
            "authorization_header",
            r"(?i)authorization[\"']?:\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}([\w.+/=-]{12,2000})",
        ),
        (
            "assigned_secret",
            _ASSIGNED,
        ),
    )
)
_IMAGE = re.compile(r"data:image/[\w.+-]{1,20};base64,[A-Za-z0-9+/]*+={0,2}")


@dataclass(frozen=True)
class Match:
    """A secret that was found in a text. `kind`: the form of the secret, such as `github_token`;
    `saved_secret` for a known secret. `value`: the secret itself. `name`: the name of the known secret; None
    if the text only looks like a secret.
    """

    kind: str
    value: str
    name: str | None = None


class SecretScan:
    """A search for secrets in texts, and in the texts inside JSON values. Its methods return the secrets that
    were found, or hide them.

    known: the known secret values, by name. Values with fewer than 8 characters are ignored, because such
    short texts occur by chance. Known values are also found if they are reversed, in other upper or lower
    case, or encoded as in URLs, JSON, base64 or hexadecimal.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        long_enough = {name: value for name, value in known.items() if len(value) >= MIN_CHARACTERS}
        self._known = [(name, value, _finder(value)) for name, value in long_enough.items()]

    def matches(self, text: str) -> Iterator[Match]:
        """Yields the secrets that are found in the text. The same secret may be yielded several times."""
        if len(text) < MIN_CHARACTERS or _IMAGE.fullmatch(text):
            return
        data = text.encode()
        for name, value, find in self._known:
            if find(data) != data:
                yield Match(KNOWN_KIND, value, name)
        for kind, pattern in _PATTERNS:
            for found in pattern.finditer(text):
                if _is_plausible(kind, found[1]):
                    yield Match(kind, found[1])

    def hide(self, text: str) -> str:
        """Returns the text with each secret replaced by `<secret-hidden>`."""
        if len(text) < MIN_CHARACTERS or _IMAGE.fullmatch(text):
            return text
        data = text.encode()
        for _, _, find in self._known:
            data = find(data)
        text = data.decode()
        for kind, pattern in _PATTERNS:
            text = pattern.sub(lambda found, kind=kind: _replaced(kind, found), text)  # type: ignore[misc]
        return text

    def matches_in(self, value: Any, path: str = "") -> Iterator[tuple[str, Match]]:
        """Yields each secret in a JSON value, together with the path of the field that contains it, such as
        `llm_message.content.0.text`. `path`: the path of `value` itself, with which all yielded paths begin.
        """
        for at, text in _texts(value, path):
            for match in self.matches(text):
                yield at, match

    def hide_in(self, value: Any) -> Any:
        """Returns the JSON value with each secret in its texts replaced by `<secret-hidden>`. Names of fields
        stay unchanged.
        """
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_in(one) for one in value]
        if isinstance(value, dict):
            return {key: self.hide_in(one) for key, one in value.items()}
        return value


def _finder(value: str) -> Callable[[bytes], bytes]:
    return ResponseRedaction([value], instead=HIDDEN.encode()).hide


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _texts(one, f"{path}.{index}" if path else str(index))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(one, f"{path}.{key}" if path else key)
            yield from _texts(key, f"{path}.{key}" if path else key)


def _is_plausible(kind: str, value: str) -> bool:
    if value == HIDDEN:
        return False
    if kind != "assigned_secret":
        return len(set(value)) >= 3
    # Names of variables and words are no secrets; random values mix letters and digits.
    has_both = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return has_both and len(set(value)) >= 6


def _replaced(kind: str, found: re.Match[str]) -> str:
    if not _is_plausible(kind, found[1]):
        return found[0]
    start, end = (at - found.start() for at in found.span(1))
    return found[0][:start] + HIDDEN + found[0][end:]

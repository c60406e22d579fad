"""The seal of a conversation's specification: a digest beside it, with a key that commands cannot read."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass


class SpecChangedError(Exception):
    """The specification is not the one that the server wrote, or has no seal where it must have one."""


@dataclass(frozen=True)
class SpecSeal:
    """keys: newest first; with none nothing is sealed, and nothing is checked.

    takes_unsealed: whether a specification without a seal is one from before there were seals.
    """

    keys: Sequence[bytes] = ()
    takes_unsealed: bool = True

    def of(self, conversation: str, spec: str) -> str | None:
        """The digest in hexadecimal digits; None without a key. conversation: the name of its directory."""
        return _digest(self.keys[0], conversation, spec) if self.keys else None

    def check(self, conversation: str, spec: str, seal: str | None) -> None:
        """Raises SpecChangedError."""
        if not self.keys or (seal is None and self.takes_unsealed):
            return
        given = (seal or "").encode()
        digests = [_digest(key, conversation, spec) for key in self.keys]
        if not any(hmac.compare_digest(given, digest.encode()) for digest in digests):
            raise SpecChangedError(conversation)


UNSEALED = SpecSeal()


def _digest(key: bytes, conversation: str, spec: str) -> str:
    return hmac.digest(key, f"{conversation}\0{spec}".encode(), "sha256").hex()

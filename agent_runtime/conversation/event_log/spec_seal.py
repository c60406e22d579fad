"""The seal of a conversation's specification: a keyed digest that shows if the specification was changed. The
agent's commands cannot read the key.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass


class SpecChangedError(Exception):
    """The specification of a conversation was changed by a program other than the server, or lacks a required
    seal.
    """


@dataclass(frozen=True)
class SpecSeal:
    """Makes and checks the seals (keyed digests) of conversations' specifications.

    `keys`: newest first. Without keys, nothing is sealed or checked.

    `takes_unsealed`: accepts a specification without a seal. Old versions wrote such specifications.
    """

    keys: Sequence[bytes] = ()
    takes_unsealed: bool = True

    def of(self, conversation: str, spec: str) -> str | None:
        """Returns the seal of a specification as hexadecimal text. Returns None if there is no key.
        `conversation`: the name of the conversation's directory.
        """
        return _digest(self.keys[0], conversation, spec) if self.keys else None

    def check(self, conversation: str, spec: str, seal: str | None) -> None:
        """Checks that the seal belongs to the specification. Raises SpecChangedError."""
        if not self.keys or (seal is None and self.takes_unsealed):
            return
        given = (seal or "").encode()
        digests = [_digest(key, conversation, spec) for key in self.keys]
        if not any(hmac.compare_digest(given, digest.encode()) for digest in digests):
            raise SpecChangedError(conversation)


UNSEALED = SpecSeal()


def _digest(key: bytes, conversation: str, spec: str) -> str:
    return hmac.digest(key, f"{conversation}\0{spec}".encode(), "sha256").hex()

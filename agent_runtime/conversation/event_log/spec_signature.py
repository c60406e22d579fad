"""Makes and checks the signature of a conversation's specification (the data with which it was created). The
signature is a keyed checksum that shows whether another program has changed the specification. The agent's
commands cannot read the key.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass


class SpecChangedError(Exception):
    """The error that is raised when the check of a conversation's specification fails: a program other than
    the server has changed the specification, or a required signature is missing.
    """


@dataclass(frozen=True)
class SpecSigner:
    """An object that signs and checks the specification of a conversation (the data with which it was
    created). A signature is a keyed checksum that shows whether the specification was changed later.

    `keys`: the keys for the checksums, newest first; without keys, nothing is signed or checked.

    `takes_unsigned`: whether a specification without a signature is accepted; old versions of the server have
    stored specifications without a signature.
    """

    keys: Sequence[bytes] = ()
    takes_unsigned: bool = True

    def sign(self, conversation: str, spec: str) -> str | None:
        """Returns the signature of a conversation's specification as hexadecimal text. Returns None if `keys`
        is empty. `conversation`: the name of the conversation's directory, which is also signed.
        """
        return _digest(self.keys[0], conversation, spec) if self.keys else None

    def check(self, conversation: str, spec: str, signature: str | None) -> None:
        """Checks that the signature belongs to the specification (the data with which the conversation was
        created). Raises SpecChangedError if it does not. `conversation`: the name of the conversation's
        directory. `signature`: None means that the specification has no signature, which is accepted only if
        `takes_unsigned` is True.
        """
        if not self.keys or (signature is None and self.takes_unsigned):
            return
        given = (signature or "").encode()
        digests = [_digest(key, conversation, spec) for key in self.keys]
        if not any(hmac.compare_digest(given, digest.encode()) for digest in digests):
            raise SpecChangedError(conversation)


UNSIGNED = SpecSigner()


def _digest(key: bytes, conversation: str, spec: str) -> str:
    return hmac.digest(key, f"{conversation}\0{spec}".encode(), "sha256").hex()

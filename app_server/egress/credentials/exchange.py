"""Replaces placeholders in the headers of a sandbox's request by the real values of secrets. For some
secrets, the sandbox gets only placeholders and not the values. Does no I/O.

Only headers that can carry credentials are changed. A placeholder in the address, the body or another header
stays. Otherwise a program in the sandbox could make a host store the real value as data, and then read the
value from the host.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app_server.mcp_servers.brokered_variables import BrokeredVariable

_CARRYING = re.compile(rb"auth|key|token|secret")
_BASIC = re.compile(r"(Basic )([A-Za-z0-9+/=]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Exchange:
    """The headers of a request in which placeholders were replaced by real values.

    headers: the changed headers with the real values. If a header occurs several times and one occurrence is
    changed, its unchanged occurrences are included too, because the caller replaces all of them. secrets: the
    real values, and the last words of the changed headers, such as an encoded user name with a real value.
    The egress proxy masks these texts in the host's reply, so that the sandbox cannot read them there.
    """

    headers: Sequence[tuple[bytes, bytes]] = field(default=(), repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)

    @property
    def names(self) -> frozenset[bytes]:
        """The names, in lower case, of the headers in which a placeholder was replaced by a real value."""
        return frozenset(name for name, _ in self.headers)


def exchange(headers: Iterable[tuple[bytes, bytes]], variables: Sequence[BrokeredVariable]) -> Exchange:
    """Replaces the placeholders of these secret variables (secrets of which the sandbox has only
    placeholders) by the real values. Returns the headers that were changed. Returns an empty Exchange if no
    header contains a placeholder.

    headers: all headers of a request, with names in lower case.
    """
    if not variables:
        return Exchange()
    carrying = [(name, value.decode("latin-1")) for name, value in headers if _carries(name)]
    changed = [(name, value, _filled(value, variables)) for name, value in carrying]
    names = {name for name, before, after in changed if before != after}
    sent = [(name, after) for name, _, after in changed if name in names]
    secrets = [variable.value for variable in variables] + [after.rpartition(" ")[2] for _, after in sent]
    return Exchange([(name, after.encode("latin-1")) for name, after in sent], secrets if sent else ())


def _carries(name: bytes) -> bool:
    return _CARRYING.search(name) is not None and not name.startswith(b"proxy-")


def _filled(text: str, variables: Sequence[BrokeredVariable]) -> str:
    if pair := _BASIC.fullmatch(text):
        try:
            plain = base64.b64decode(pair[2], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return text
        filled = _put(plain, variables)
        return text if filled == plain else pair[1] + base64.b64encode(filled.encode()).decode()
    return _put(text, variables)


def _put(text: str, variables: Sequence[BrokeredVariable]) -> str:
    for variable in variables:
        text = variable.put_into(text)
    return text

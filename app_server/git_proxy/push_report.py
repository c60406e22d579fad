"""Creates the status report for a push that Slipway refuses, and parses the status report of a git host."""

from collections.abc import Mapping

from app_server.git_proxy.commands import CommandList
from app_server.git_proxy.pkt_line import FLUSH, MAX_DATA_BYTES, ProtocolError, encode, length_of, lines_of

MAX_REPORT_BYTES = 1024**2
_DATA, _MESSAGE, _FATAL = b"\x01", b"\x02", b"\x03"
_OTHERS_REFUSED = "not pushed, since another ref was refused"


def refused(pushed: CommandList, reasons: Mapping[str, str], message: str) -> bytes:
    """Returns the bytes of a status report that refuses all refs (branches and tags) of a push. Git shows the
    reason for each ref.

    `pushed`: the beginning of the push, which lists its refs. `reasons`: maps a ref to the reason of its
    refusal. A ref that is not in `reasons` gets the reason that another ref was refused. `message`: a text
    that git in the sandbox shows after `remote:`. It is left out if git has not requested a reply with
    several channels (`side-band-64k`), because only such a reply can carry messages.
    """
    lines = [b"unpack ok\n"]
    lines += [
        f"ng {command.ref} {_one_line(reasons.get(command.ref, _OTHERS_REFUSED))}\n".encode()
        for command in pushed.commands
    ]
    report = b"".join(map(encode, lines)) + FLUSH
    if not pushed.has_sideband:
        return report
    parts = [report[at : at + MAX_DATA_BYTES - 1] for at in range(0, len(report), MAX_DATA_BYTES - 1)]
    bands = [_MESSAGE + f"{message}\n".encode(), *(_DATA + part for part in parts)]
    return b"".join(map(encode, bands)) + FLUSH


def fatal(message: str) -> bytes:
    """Returns the bytes of a reply that ends a push with an error message, without a reason for each ref. It
    is used if Slipway refuses the push before it has read the list of refs, or if the list is not valid.
    """
    return encode(_FATAL + f"{message}\n".encode()) + FLUSH


class ReportReader:
    """A parser for the git host's reply to a push. It parses the reply piece by piece while the reply is
    streamed to the sandbox. At the end, `outcomes` returns the outcome of each ref.
    """

    def __init__(self, *, has_sideband: bool) -> None:
        self._has_sideband = has_sideband
        self._held = bytearray()
        self._report = bytearray()
        self._is_readable = True

    def feed(self, piece: bytes) -> None:
        """Parses the next piece of the git host's reply. Never raises an error, because the sandbox gets the
        reply even if it cannot be parsed.
        """
        if not self._has_sideband:
            self._report += piece
        elif self._is_readable:
            self._held += piece
            try:
                self._unpack()
            except ProtocolError:
                self._is_readable = False
        self._is_readable = self._is_readable and len(self._report) <= MAX_REPORT_BYTES
        if not self._is_readable:
            self._held.clear()
            self._report.clear()

    def outcomes(self) -> dict[str, str | None]:
        """Returns the outcome of the push for each ref: None if the git host has changed the ref, or else the
        host's reason. If a ref is missing, its outcome is unknown.
        """
        found: dict[str, str | None] = {}
        try:
            for line in lines_of(bytes(self._report)):
                word, _, rest = line.decode(errors="replace").rstrip("\n").partition(" ")
                ref, _, reason = rest.partition(" ")
                if word in {"ok", "ng"}:
                    found[ref] = None if word == "ok" else reason[:500]
        except ProtocolError:
            return found
        return found

    def _unpack(self) -> None:
        while len(self._held) >= len(FLUSH):
            size = length_of(bytes(self._held[:4]))
            if len(self._held) < 4 + size:
                return
            line = self._held[4 : 4 + size]
            del self._held[: 4 + size]
            if line[:1] == _DATA:
                self._report += line[1:]


def _one_line(text: str) -> str:
    return " ".join(text.split())

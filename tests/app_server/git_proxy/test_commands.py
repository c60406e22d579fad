"""Tests of the command list of a push (the refs that git wants to change), byte by byte: which lists are
accepted, and which unclear ones are refused.
"""

from collections.abc import AsyncIterator

import pytest

from app_server.git_proxy.commands import MAX_COMMANDS, MAX_SHALLOW_LINES, read_commands
from app_server.git_proxy.pkt_line import FLUSH, ProtocolError, Reader, encode, lines_of
from app_server.git_proxy.push_report import ReportReader, refused

OLD, NEW = "0" * 40, "a" * 40
CAPABILITIES = b"report-status side-band-64k"


def line(ref: str = "refs/heads/x", old: str = OLD, new: str = NEW) -> bytes:
    return f"{old} {new} {ref}".encode()


def listed(*lines: bytes) -> bytes:
    first, *rest = lines
    return b"".join(map(encode, [first + b"\0" + CAPABILITIES, *rest])) + FLUSH


async def read(body: bytes, step: int = 65536) -> tuple[object, bytes]:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), step):
            yield body[at : at + step]

    reader = Reader(pieces())
    found = await read_commands(reader)
    rest = b"".join([piece async for piece in reader.rest()])
    assert reader.seen + rest == body
    return found.commands, rest


@pytest.mark.parametrize("step", [1, 3, 7, 65536])
async def test_a_list_is_read_however_it_comes_and_nothing_of_the_pack_is(step: int) -> None:
    shallow = f"shallow {NEW}".encode()
    body = listed(line(), line("refs/heads/y", NEW, OLD) + b"\n")
    commands, rest = await read(encode(shallow) + body + b"PACK....", step)
    assert [(c.ref, c.is_creation, c.is_deletion) for c in commands] == [  # type: ignore[attr-defined]
        ("refs/heads/x", True, False),
        ("refs/heads/y", False, True),
    ]
    assert rest == b"PACK...."


@pytest.mark.parametrize("step", [7, 1000, 65536])
@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("digits", [40, 64])
async def test_lines_of_a_shallow_clone_are_counted_however_they_come(
    step: int, end: bytes, digits: int
) -> None:
    shallow = encode(b"shallow " + b"a" * digits + end)
    commands, rest = await read(shallow * 50 + listed(line()) + b"PACK....", step)
    assert len(commands) == 1  # type: ignore[arg-type]
    assert rest == b"PACK...."
    await read(shallow * MAX_SHALLOW_LINES + listed(line()))
    with pytest.raises(ProtocolError, match="unshallow"):
        await read(shallow * (MAX_SHALLOW_LINES + 1) + listed(line()))


async def test_a_client_that_tries_the_door_asks_for_nothing() -> None:
    assert await read(FLUSH) == ((), b"")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"00",
        b"zzzz",
        b"0001",
        b"0004",
        b"fff5" + b"x" * 70_000,
        b"+123",
        encode(line()),
        encode(line()) + FLUSH,
        encode(line() + b"\0atomic") + FLUSH,
        listed(line(), line()),
        listed(line(), line("refs/heads/y") + b"\0report-status"),
        listed(line("HEAD")),
        listed(line("refs/heads/a..b")),
        listed(line("refs/heads//x")),
        listed(line("refs/heads/x.lock")),
        listed(line("refs/heads/x/")),
        listed(line("refs/heads/.x")),
        listed(line("refs/heads/a b")),
        listed(line("refs/heads/a\nb")),
        listed(line("refs/heads/a@{1}")),
        listed(line("refs/heads/\udcff".encode("utf-8", "surrogateescape").decode("latin-1"))[:-3] + b"\xff"),
        listed(line(old="0" * 39)),
        listed(line(old="0" * 64)),
        listed(line(new="A" * 40)),
        listed(b"push-cert"),
        listed(line(), f"shallow {NEW}".encode()),
        listed(*(line(f"refs/heads/{number}") for number in range(MAX_COMMANDS + 1))),
    ],
)
async def test_invalid_commands_are_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        await read(body)


@pytest.mark.parametrize("step", [1, 5, 100_000])
async def test_a_report_of_ours_is_read_as_it_was_meant(step: int) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield listed(*(line(f"refs/heads/{number:03}") for number in range(400)))

    pushed = await read_commands(Reader(pieces()))
    reasons = {command.ref: "no\nway " + "x" * 200 for command in pushed.commands[:300]}
    body = refused(pushed, reasons, "Not this way.")
    assert any(each.startswith(b"\x02Not this way.") for each in lines_of(body))
    reader = ReportReader(has_sideband=True)
    for at in range(0, len(body), step):
        reader.feed(body[at : at + step])
    found = reader.outcomes()
    assert found["refs/heads/000"] == "no way " + "x" * 200
    assert found["refs/heads/399"] == "not pushed, since another ref was refused"
    assert len(found) == 400


@pytest.mark.parametrize("body", [b"", b"junk", b"0009\x01ok", b"0" * 3, b"000d\x01ok x\n0000"])
async def test_a_report_that_cannot_be_read_tells_nothing(body: bytes) -> None:
    reader = ReportReader(has_sideband=True)
    reader.feed(body)
    assert reader.outcomes() == {}

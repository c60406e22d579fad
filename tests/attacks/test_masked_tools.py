"""Secrets stay masked in what common tools print of a file, wherever the output is cut.

HYPOTHESIS_PROFILE=thorough tries 10,000 files for each form of output; an ordinary run tries a few hundred.
For some of the files, the tests run the real tools and compare their output with the generated output.
"""

import base64
import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import quote

import pytest

from agent_runtime.secrets.masking import MASK, Masker, StreamMask
from tests.support.requirements import need_program

IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
FILES = 10_000 if IS_THOROUGH else 200
TOOL_FILES = 200 if IS_THOROUGH else 6
pytestmark = pytest.mark.timeout(3600)

# The secret and the text around it have no characters in common, so a trace can only come from the secret.
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-.%&$#/+=\\\"'~"
OTHERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ ,:;!?()\n\t"
WINDOW = 5
"""The tests fail if this number of consecutive bytes of a secret can be read."""


@dataclass(frozen=True)
class File:
    before: bytes
    secret: str
    after: bytes
    width: int

    @property
    def data(self) -> bytes:
        return self.before + self.secret.encode() + self.after


def dice_of(name: str) -> random.Random:
    """Returns a random generator that gives the same files in each run. name: the seed."""
    return random.Random(name)  # noqa: S311 (chooses what to try)


def file_of(dice: random.Random) -> File:
    def other() -> bytes:
        return "".join(dice.choices(OTHERS, k=dice.randrange(60))).encode()

    letters = LETTERS + ("äß€😀" if dice.random() < 0.1 else "")
    secret = "".join(dice.choices(letters, k=dice.randrange(8, 64)))
    return File(other(), secret, other(), dice.choice((16, 20, 60, 64, 76, dice.randrange(4, 120))))


def wrapped(text: str, width: int) -> str:
    return "".join(f"{text[at : at + width]}\n" for at in range(0, len(text), width))


def spaced(data: bytes, separator: str = " ", prefix: str = "") -> str:
    return separator.join(f"{prefix}{byte:02x}" for byte in data)


def rows(data: bytes, size: int) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]


def words(row: bytes, size: int) -> list[int]:
    return [
        int.from_bytes(row[at : at + size].ljust(size, b"\0"), "little") for at in range(0, len(row), size)
    ]


def printable(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)


def xxd(file: File) -> str:
    lines = []
    for at, row in rows(file.data, 16):
        digits = " ".join(row[i : i + 2].hex() for i in range(0, len(row), 2))
        lines.append(f"{at:08x}: {digits:<39}  {printable(row)}\n")
    return "".join(lines)


def xxd_c(file: File) -> str:
    name = "const unsigned char data[] = {\n"
    return name + ",\n".join("  " + spaced(row, ", ", "0x") for _, row in rows(file.data, 12)) + "\n};\n"


def hexdump_c(file: File) -> str:
    lines = []
    for at, row in rows(file.data, 16):
        digits = f"{spaced(row[:8])}  {spaced(row[8:])}"
        lines.append(f"{at:08x}  {digits:<49} |{printable(row)}|\n")
    return "".join(lines) + f"{len(file.data):08x}\n"


def od(size: int, digits: str, offset: str = "07o") -> Callable[[File], str]:
    def printed(file: File) -> str:
        lines = [
            f"{at:{offset}} " + " ".join(f"{word:{digits}}" for word in words(row, size)) + "\n"
            for at, row in rows(file.data, 16)
        ]
        return "".join(lines) + f"{len(file.data):{offset}}\n"

    return printed


_NAMED = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def od_c(file: File) -> str:
    def cell(byte: int) -> str:
        return _NAMED.get(byte) or (chr(byte) if 32 <= byte < 127 else f"{byte:03o}")

    lines = [
        f"{at:07o}" + "".join(f"{cell(byte):>4}" for byte in row) + "\n" for at, row in rows(file.data, 16)
    ]
    return "".join(lines) + f"{len(file.data):07o}\n"


def numbered(text: str) -> str:
    return "".join(f"{number:6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1))


def text_of(file: File) -> str:
    return file.data.decode()


def base64_of(file: File) -> str:
    return wrapped(base64.b64encode(file.data).decode(), file.width)


FORMS: dict[str, Callable[[File], str]] = {
    "base64": base64_of,
    "base64 for URLs": lambda file: wrapped(base64.urlsafe_b64encode(file.data).decode(), file.width),
    "base64 with numbered lines": lambda file: numbered(base64_of(file)),
    "base64 in a patch": lambda file: re.sub(r"(?m)^(?=.)", "+", base64_of(file)),
    "base64 in JSON": lambda file: json.dumps({"data": base64_of(file)}),
    "base64 with CRLF": lambda file: base64_of(file).replace("\n", "\r\n"),
    "base64 in an address": lambda file: quote(base64.b64encode(file.data).decode(), safe=""),
    "base32": lambda file: wrapped(base64.b32encode(file.data).decode(), file.width),
    "xxd -p": lambda file: wrapped(file.data.hex(), 60),
    "xxd -p -c": lambda file: wrapped(file.data.hex(), 2 * (file.width // 2)),
    "xxd": xxd,
    "xxd with numbered lines": lambda file: numbered(xxd(file)),
    "xxd in JSON": lambda file: json.dumps({"out": xxd(file)}),
    "xxd -i": xxd_c,
    "hexdump -C": hexdump_c,
    "hexdump": od(2, "04x", "07x"),
    "od": od(2, "06o"),
    "od -b": od(1, "03o"),
    "od -c": od_c,
    "od -x": od(2, "04x"),
    "od -tx1": od(1, "02x"),
    "od -tx4": od(4, "08x"),
    "od -tx8": od(8, "016x"),
    "od -tu1": od(1, "3d"),
    "od -An -tx1": lambda file: "".join(f" {spaced(row)}\n" for _, row in rows(file.data, 16)),
    "hex with blanks": lambda file: spaced(file.data),
    "HEX with colons": lambda file: spaced(file.data, ":").upper(),
    "hex for shells": lambda file: "".join(f"\\x{byte:02x}" for byte in file.data),
    "percent": lambda file: "".join(f"%{byte:02X}" for byte in file.data),
    "percent in lower case": lambda file: "".join(f"%{byte:02x}" for byte in file.data),
    "percent where needed": lambda file: quote(file.data),
    "percent twice": lambda file: quote(quote(file.data, safe=""), safe=""),
    "JSON": lambda file: json.dumps(text_of(file)),
    "JSON in JSON": lambda file: json.dumps(json.dumps([text_of(file)])),
    "JSON of escapes": lambda file: (
        "".join(f"\\u{ord(letter):04x}" for letter in text_of(file))
        if text_of(file).isascii()
        else json.dumps(text_of(file))
    ),
    "repr": lambda file: repr(text_of(file)),
    "repr of bytes": lambda file: repr(file.data),
    "repr in repr": lambda file: repr([repr(text_of(file))]),
    "ascii": lambda file: ascii(text_of(file)),
    "octal for shells": lambda file: "".join(f"\\{byte:03o}" for byte in file.data),
    "entities": lambda file: "".join(f"&#{ord(letter)};" for letter in text_of(file)),
    "numbers": lambda file: str(list(file.data)),
    "fold": lambda file: wrapped(file.secret, file.width),
}


def traces(secret: str) -> list[str]:
    """Returns all pieces of WINDOW bytes of the secret, plain and encoded. A leak shows at
    least one piece.
    """
    data = secret.encode()
    pieces = [data[at : at + WINDOW] for at in range(len(data) - WINDOW + 1)]
    found = [piece.decode("latin-1") for piece in pieces] + [piece.hex() for piece in pieces]
    found += ["".join(map(re.escape, f"{piece!r}"[2:-1])).replace("\\\\", "\\") for piece in pieces]
    return found


def undone(said: str) -> str:
    """Returns all texts that simple decodings of a masked text give. They share no code with the masker."""
    kept = said.replace(MASK, "\n\0\n")
    plain = re.sub(r"\\u00([0-9a-f]{2})", r"\\x\1", kept)
    for _ in range(3):
        plain = re.sub(r"%25|%([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)) if m[1] else "%", plain)
        plain = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), plain)
        plain = re.sub(r"\\([0-3][0-7]{2})", lambda m: chr(int(m[1], 8)), plain)
        plain = re.sub(r"\\([\\\"'])", r"\1", plain)
    plain = re.sub(r"&#(\d+);", lambda m: chr(int(m[1])), plain)
    lines = [re.sub(r"^\s*\d{1,6}\t|^[+]", "", line) for line in kept.replace("\\n", "\n").splitlines()]
    code = re.sub(r"[^A-Za-z0-9+/\0]", "", "".join(lines).replace("-", "+").replace("_", "/"))
    shown = [kept, kept.replace("\n", ""), plain]
    for part in code.split("\0"):
        for at in range(4):
            some = part[at:]
            shown.append(base64.b64decode(some[: len(some) // 4 * 4]).decode("latin-1"))
    for part in re.sub(r"[^A-Z2-7\0]", "", "".join(lines)).split("\0"):
        for at in range(8):
            some = part[at:]
            shown.append(base64.b32decode(some[: len(some) // 8 * 8]).decode("latin-1"))
    shown += _of_rows(lines)
    for run in re.findall(r"\d+(?:[,\s]+\d+)*", kept):
        shown.append("".join(chr(min(int(one), 255)) for one in re.findall(r"\d+", run)))
    return "\n\0\n".join(shown)


def _of_rows(lines: list[str]) -> list[str]:
    """Returns the texts that hex and octal dumps give, with and without offsets, in both byte orders."""
    readings: dict[str, str] = {}

    def add(kind: str, text: str) -> None:
        readings[kind] = readings.get(kind, "") + text

    for line in lines:
        digits = re.sub(r"^[0-9a-f]{7,8}:?\s+", "", line).split("  |")[0]
        digits = digits.split("  ")[0] if ": " in line[:12] else digits
        add("hex", re.sub(r"0x|[\s:,\\x%]", "", digits))
        add("hex alone", re.sub(r"0x|[\s:,\\x%]", "", line))
        tokens = digits.split()
        if tokens and all(
            re.fullmatch(r"[0-9a-f]{2}|[0-9a-f]{4}|[0-9a-f]{8}|[0-9a-f]{16}", t) for t in tokens
        ):
            add("swapped", "".join(bytes.fromhex(token)[::-1].decode("latin-1") for token in tokens))
        if tokens and all(re.fullmatch(r"[0-7]{3}|[0-7]{6}", token) for token in tokens):
            size = len(tokens[0]) // 3
            values = [int(token, 8) % 256**size for token in tokens]
            add("octal", "".join(value.to_bytes(size, "little").decode("latin-1") for value in values))
        if re.match(r"^\d{7} ", line):
            add("cells", "".join(line[at : at + 4].strip() or " " for at in range(7, len(line), 4)))
    return list(readings.values())


def seen(said: str, secret: str) -> list[str]:
    shown = undone(said)
    lowered = shown.lower()
    return [one for one in traces(secret) if one in shown or one in lowered]


def leaks(said: str, file: File, print_of: Callable[[File], str]) -> list[str]:
    """Returns the traces of the file's secret that can be read in the masked text. A trace that is also there
    when the file holds another secret is left out: it comes from offsets or from text beside the secret.
    """
    found = seen(said, file.secret)
    if not found:
        return []
    other = with_another_secret(file)
    chance = set(seen(masker_of(other.secret).text(print_of(other)), file.secret))
    return [one for one in found if one not in chance]


def with_another_secret(file: File) -> File:
    """Returns the file with another secret. Each character differs but takes the same number of bytes."""
    places = {"ä": "ß", "ß": "ä", "€": "\u20ad", "😀": "🙂"}
    dice = dice_of(file.secret)

    def other(letter: str) -> str:
        return places.get(letter) or dice.choice(LETTERS.replace(letter, ""))

    return replace(file, secret="".join(map(other, file.secret)))


def masker_of(secret: str) -> Masker:
    masker = Masker()
    masker.learn([secret])
    return masker


@pytest.mark.parametrize("form", FORMS)
def test_no_form_shows_a_secret(form: str):
    dice = dice_of(form)
    for _ in range(FILES):
        file = file_of(dice)
        printed = FORMS[form](file)
        said = masker_of(file.secret).text(printed)
        assert MASK in said, (file, printed)
        assert not leaks(said, file, FORMS[form]), (file, printed, said)


@pytest.mark.parametrize("form", FORMS)
def test_no_cut_shows_a_secret(form: str):
    dice = dice_of(f"cut {form}")
    for _ in range(FILES // 30):
        file = file_of(dice)
        printed = FORMS[form](file)
        masker = masker_of(file.secret)
        stream = StreamMask(lambda masker=masker: masker)
        said, at = [], 0
        while at < len(printed):
            size = dice.choice((1, 2, 5, 17, 90, 4096))
            said.append(stream.feed(printed[at : at + size]))
            at += size
        text = "".join([*said, stream.flush()])
        assert not leaks(text, file, FORMS[form]), (file, printed, text)


def test_what_stands_beside_a_secret_is_no_leak_and_what_is_left_of_it_is():
    file = File(b"ABCDE ", "abcdefghijkl", b" FGHIJ", 76)
    said = masker_of(file.secret).text(text_of(file))
    assert "abcde" in seen(said, file.secret)
    assert not leaks(said, file, text_of)
    assert "hijkl" in leaks(f"{said} hijkl", file, text_of)


TOOLS: dict[str, list[str]] = {
    "base64": ["base64", "-w", "WIDTH"],
    "base32": ["base32", "-w", "WIDTH"],
    "xxd -p": ["xxd", "-p"],
    "xxd": ["xxd"],
    "hexdump -C": ["hexdump", "-v", "-C"],
    "hexdump": ["hexdump", "-v"],
    "od": ["od", "-v"],
    "od -b": ["od", "-v", "-b"],
    "od -c": ["od", "-v", "-c"],
    "od -x": ["od", "-v", "-x"],
    "od -tx1": ["od", "-v", "-tx1"],
    "od -tx4": ["od", "-v", "-tx4"],
    "od -tx8": ["od", "-v", "-tx8"],
    "od -tu1": ["od", "-v", "-tu1"],
    "od -An -tx1": ["od", "-v", "-An", "-tx1"],
}
MORE_TOOLS = [
    ["od", "-v", "-tx1z"],
    ["od", "-v", "-a"],
    ["od", "-v", "-A", "x", "-tx1z", "-w24"],
    ["od", "-v", "-A", "n", "-c"],
    ["hexdump", "-v", "-b"],
    ["hexdump", "-v", "-c"],
    ["hexdump", "-v", "-x"],
    ["xxd", "-c", "WIDTH"],
    ["xxd", "-g", "1", "-u"],
    ["xxd", "-g", "0"],
    ["xxd", "-e"],
    ["xxd", "-b"],
    ["xxd", "-i", "-"],
    ["xxd", "-p", "-c", "WIDTH"],
    ["fold", "-w", "WIDTH"],
    ["base64"],
    ["jq", "-Rs", "."],
    ["jq", "-Rsr", "@uri"],
    ["jq", "-Rsr", "@base64"],
]


def run_tool(command: list[str], file: File) -> str:
    need_program(command[0])
    filled = [word.replace("WIDTH", str(file.width)) for word in command]
    return subprocess.run(
        filled,
        input=file.data,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
    ).stdout.decode()


@pytest.mark.parametrize("form", TOOLS)
def test_the_forms_are_what_the_tools_print(form: str):
    dice = dice_of(f"tool {form}")
    for _ in range(TOOL_FILES):
        file = file_of(dice)
        printed = run_tool(TOOLS[form], file)
        ours = FORMS[form](file)
        # Some tools fill short words and the last line with blanks.
        assert [line.rstrip() for line in printed.splitlines()][:-2] == [
            line.rstrip() for line in ours.splitlines()
        ][: len(printed.splitlines()) - 2]
        assert not leaks(masker_of(file.secret).text(printed), file, FORMS[form])


@pytest.mark.parametrize("command", MORE_TOOLS, ids=" ".join)
def test_no_tool_shows_a_secret(command: list[str]):
    dice = dice_of(" ".join(command))
    for _ in range(TOOL_FILES):
        file = file_of(dice)
        said = masker_of(file.secret).text(run_tool(command, file))
        assert MASK in said, (file, said)
        assert not leaks(said, file, partial(run_tool, command)), (file, said)

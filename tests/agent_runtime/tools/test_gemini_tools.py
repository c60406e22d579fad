"""Tests of the four file tools in the form that Gemini models know, on real files."""

import base64
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_runtime.events.content import ImageContent
from agent_runtime.tools.arguments import parse_arguments
from agent_runtime.tools.gemini import read_file
from agent_runtime.tools.registry import ToolSpec, create_tools
from agent_runtime.tools.tool import Observation, ToolContext

Use = Callable[..., Awaitable[Observation]]


@pytest.fixture
def use(tmp_path: Path) -> Use:
    names = ("edit", "read_file", "write_file", "list_directory")
    tools = create_tools([ToolSpec(name=name) for name in names], ToolContext(tmp_path, tmp_path / "state"))

    async def use(tool: str, **arguments) -> Observation:
        return await tools[tool].run(parse_arguments(tools[tool], arguments))

    return use


async def test_a_file_is_written_read_and_edited_by_relative_paths(use: Use, tmp_path: Path):
    path = tmp_path / "src" / "a.py"

    written = await use("write_file", file_path="src/a.py", content="x = 1\ny = 1\n")
    assert written.to_wire() == {
        "content": [{"cache_prompt": False, "type": "text", "text": f"{path} has been created (2 lines)."}],
        "is_error": False,
        "file_path": str(path),
        "is_new_file": True,
        "new_content": "x = 1\ny = 1\n",
        "kind": "WriteFileObservation",
    }

    edited = await use("edit", file_path="src/a.py", old_string="x = 1", new_string="x = 2")
    assert edited.to_wire() == {
        "content": [
            {"cache_prompt": False, "type": "text", "text": f"{path} has been edited: 1 replacement(s) made."}
        ],
        "is_error": False,
        "file_path": str(path),
        "is_new_file": False,
        "replacements_made": 1,
        "old_content": "x = 1\ny = 1\n",
        "new_content": "x = 2\ny = 1\n",
        "kind": "EditObservation",
    }

    read = await use("read_file", file_path=str(path))
    assert read.to_wire() == {
        "content": [{"cache_prompt": False, "type": "text", "text": "x = 2\ny = 1"}],
        "is_error": False,
        "file_path": str(path),
        "file_content": "x = 2\ny = 1",
        "is_truncated": False,
        "total_lines": 2,
        "kind": "ReadFileObservation",
    }


async def test_several_places_are_edited_when_their_number_is_right(use: Use, tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"a\r\nb\r\na\r\nb\r\n")
    fields = {"file_path": "a", "old_string": "a\nb", "new_string": "x\ny"}
    wrong = await use("edit", **fields, expected_replacements=3)
    assert wrong.is_error
    assert "2 times, not 3" in wrong.text
    assert (await use("edit", **fields)).is_error
    assert path.read_bytes() == b"a\r\nb\r\na\r\nb\r\n"
    await use("edit", **fields, expected_replacements=2)
    assert path.read_bytes() == b"x\r\ny\r\nx\r\ny\r\n"


async def test_an_empty_old_string_creates_a_file_and_never_overwrites(use: Use, tmp_path: Path):
    created = await use("edit", file_path="new/a", old_string="", new_string="x\n")
    assert created.to_wire()["is_new_file"]
    assert (await use("edit", file_path="new/a", old_string="", new_string="y\n")).is_error
    assert (tmp_path / "new/a").read_text() == "x\n"


async def test_an_overwritten_file_keeps_its_endings_and_encoding(use: Use, tmp_path: Path):
    (tmp_path / "a").write_bytes("\ufeffold\r\nlines\r\n".encode())
    observation = await use("write_file", file_path="a", content="new\ntext\n")
    assert (tmp_path / "a").read_bytes() == "\ufeffnew\r\ntext\r\n".encode()
    assert observation.to_wire()["old_content"] == "old\r\nlines\r\n"


async def test_a_long_file_is_read_in_pieces(use: Use, tmp_path: Path):
    (tmp_path / "long").write_text("".join(f"{n}\n" for n in range(5000)))
    seen: list[str] = []
    while True:
        piece = (await use("read_file", file_path="long", offset=len(seen))).to_wire()
        seen += str(piece["file_content"]).split("\n")
        assert piece["lines_shown"] == [
            len(seen) - len(str(piece["file_content"]).split("\n")) + 1,
            len(seen),
        ]
        if len(seen) == piece["total_lines"]:
            break
        assert f"offset={len(seen)}.]" in str(piece["content"])
    assert seen == [str(n) for n in range(5000)]
    two = await use("read_file", file_path="long", offset=10, limit=2)
    assert two.to_wire()["file_content"] == "10\n11"


async def test_wide_lines_do_not_break_the_limit(use: Use, tmp_path: Path):
    (tmp_path / "wide").write_text("x" * 200_000 + "\n" + "y" * 50_000 + "\nz\n")
    observation = await use("read_file", file_path="wide")
    assert len(observation.text) < read_file.MAX_CHARS + 1000
    assert observation.to_wire()["is_truncated"]
    assert observation.to_wire()["lines_shown"] == [1, 1]


async def test_an_image_is_read_as_an_image(use: Use, tmp_path: Path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    observation = await use("read_file", file_path="a.png")
    assert observation.content[1] == ImageContent(image_urls=[f"data:image/png;base64,{data}"])


async def test_a_directory_is_listed_with_kinds_sizes_and_times(use: Use, tmp_path: Path):
    (tmp_path / "sub" / "below" / "deep").mkdir(parents=True)
    (tmp_path / ".hidden").write_text("12345")
    os.utime(tmp_path / ".hidden", (0, 0))
    wire = (await use("list_directory")).to_wire()
    assert wire["dir_path"] == str(tmp_path)
    assert wire["total_count"] == 2
    assert isinstance(wire["entries"], list)
    assert wire["entries"][0] == {
        "name": ".hidden",
        "path": str(tmp_path / ".hidden"),
        "is_directory": False,
        "size": 5,
        "modified_time": "1970-01-01T00:00:00Z",
    }
    two_levels = await use("list_directory", dir_path=".", recursive=True)
    listed = [line.split()[-1] for line in two_levels.text.splitlines()[1:]]
    assert listed == [str(tmp_path / name) for name in (".hidden", "sub", "sub/below")]


async def test_a_large_directory_is_cut_and_says_so(use: Use, tmp_path: Path):
    for number in range(510):
        (tmp_path / str(number)).touch()
    observation = await use("list_directory")
    assert observation.to_wire()["is_truncated"]
    assert observation.to_wire()["total_count"] == 510
    assert "first 500" in observation.text


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("read_file", {"file_path": "nowhere"}),
        ("read_file", {"file_path": "."}),
        ("read_file", {"file_path": ""}),
        ("read_file", {"file_path": "a\0b"}),
        ("read_file", {"file_path": "two", "offset": 9}),
        ("read_file", {"file_path": "binary"}),
        ("write_file", {"file_path": ".", "content": ""}),
        ("write_file", {"file_path": "two/below", "content": ""}),
        ("write_file", {"file_path": "two", "content": "\ud800"}),
        ("edit", {"file_path": "nowhere", "old_string": "a", "new_string": "b"}),
        ("edit", {"file_path": "two", "old_string": "missing", "new_string": "b"}),
        ("edit", {"file_path": "two", "old_string": "1", "new_string": "1"}),
        ("list_directory", {"dir_path": "nowhere"}),
        ("list_directory", {"dir_path": "two"}),
    ],
)
async def test_what_cannot_be_done_is_an_answer_and_changes_nothing(use: Use, tmp_path: Path, tool, fields):
    (tmp_path / "two").write_text("1\n2\n")
    (tmp_path / "binary").write_bytes(b"\0")
    observation = await use(tool, **fields)
    assert observation.is_error
    assert observation.text
    assert (tmp_path / "two").read_text() == "1\n2\n"

"""Tests of the tool `apply_patch` with patches as models write them, on real files."""

import asyncio
import os
from pathlib import Path

import pytest

from agent_runtime.tools.apply_patch import ApplyPatchAction, ApplyPatchObservation, ApplyPatchTool
from agent_runtime.tools.tool import ToolContext
from tests.support.patience import PATIENCE_SECONDS

CODE = """\
class A:
    def go(self):
        x = 1
        return x


class B:
    def go(self):
        x = 1
        return x
"""


class Patcher:
    def __init__(self, root: Path) -> None:
        self.root = root

    async def __call__(self, *lines: str) -> ApplyPatchObservation:
        patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
        return await self.raw(patch)

    async def raw(self, patch: str) -> ApplyPatchObservation:
        return await ApplyPatchTool(ToolContext(self.root, self.root)).run(ApplyPatchAction(patch=patch))

    async def change(self, content: str | bytes, *lines: str) -> bytes:
        """Writes `content` to a file, applies the patch lines to this file, and returns its new content."""
        path = self.root / "a.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        observation = await self("*** Update File: a.txt", *lines)
        assert not observation.is_error, observation.text
        return path.read_bytes()

    def files(self) -> dict[str, str]:
        found = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_text() for path in found}


@pytest.fixture
def patch(tmp_path: Path) -> Patcher:
    return Patcher(tmp_path)


async def test_files_are_added_updated_moved_and_deleted_by_one_patch(patch: Patcher):
    (patch.root / "a.py").write_text("one\ntwo\nthree\n")
    (patch.root / "b.py").write_text("import x\nrest\n")
    (patch.root / "b.py").chmod(0o755)
    (patch.root / "c.py").write_text("old\n")
    observation = await patch(
        "*** Update File: a.py",
        "@@",
        " one",
        "-two",
        "+TWO",
        " three",
        "*** Update File: b.py",
        "*** Move to: sub/d.py",
        "@@",
        "-import x",
        "+import y",
        "*** Add File: new/e.txt",
        "+first",
        "+",
        "+third",
        "*** Delete File: c.py",
    )
    assert patch.files() == {
        "a.py": "one\nTWO\nthree\n",
        "sub/d.py": "import y\nrest\n",
        "new/e.txt": "first\n\nthird\n",
    }
    assert (patch.root / "sub/d.py").stat().st_mode & 0o777 == 0o755
    text = "The patch was applied:\nM a.py\nM b.py -> sub/d.py\nA new/e.txt\nD c.py"
    assert observation.to_wire() == {
        "content": [{"cache_prompt": False, "type": "text", "text": text}],
        "is_error": False,
        "message": text,
        "fuzz": 0,
        "commit": {
            "changes": {
                "a.py": {
                    "type": "update",
                    "old_content": "one\ntwo\nthree\n",
                    "new_content": "one\nTWO\nthree\n",
                },
                "b.py": {
                    "type": "update",
                    "old_content": "import x\nrest\n",
                    "new_content": "import y\nrest\n",
                    "move_path": "sub/d.py",
                },
                "new/e.txt": {"type": "add", "new_content": "first\n\nthird\n"},
                "c.py": {"type": "delete", "old_content": "old\n"},
            }
        },
        "kind": "ApplyPatchObservation",
    }


@pytest.mark.parametrize(
    ("content", "lines", "expected"),
    [
        ("a\nb\nc\n", ["-b", "+B"], "a\nB\nc\n"),
        ("a\nb\nc\n", ["@@", " a", "+x", " b"], "a\nx\nb\nc\n"),
        ("a\nb\nc\n", ["@@", "-a", "@@", "-c", "+d"], "b\nd\n"),
        ("a\n\nb\n", [" a", "", "-b", "+c"], "a\n\nc\n"),
        ("a\n", ["+b"], "a\nb\n"),
        ("a\nb\nc\n", ["@@ a", "+x"], "a\nx\nb\nc\n"),
        (CODE, ["@@ class B:", "@@     def go(self):", "-        x = 1", "+        x = 2"], None),
        (CODE, ["@@ class B:", " class B:", "     def go(self):", "-        x = 1", "+        x = 2"], None),
        (CODE, ["@@ class B: @@", "     def go(self):", "-        x = 1", "+        x = 2"], None),
        ("x\ny\nx\n", ["-x", "+z", "*** End of File"], "x\ny\nz\n"),
        ("x\ny\nx\n", ["@@", "-x", "+z"], "z\ny\nx\n"),
        ("a\nb\nc\n", ["@@ -2,1 +2,1 @@", "-b", "+x"], "a\nx\nc\n"),
        ("a\nb\nc\n", ["@@ -2 +2 @@ def f", "-b", "+x"], "a\nx\nc\n"),
        ("a\nb", ["-b", "+c"], "a\nc"),
        ("a\nb", ["@@", " b", "+c"], "a\nb\nc"),
        ("a\nb", ["-a"], "b"),
        ("", ["+a"], "a\n"),
        ("a\n", ["-a"], ""),
        ("a\r\nb\r\n", ["-b", "+c", "+d"], "a\r\nc\r\nd\r\n"),
        ("+a\n-b\n", ["-+a", "+-a"], "-a\n-b\n"),
        ("a\x0cb\nc\n", ["-c", "+d"], "a\x0cb\nd\n"),
        ("a  \nb\n", ["@@", " a", "-b", "+c", ""], "a  \nc\n"),
        ("say “hi” now\nb\n", ['-say "hi" now', "+bye"], "bye\nb\n"),
    ],
)
async def test_an_update_changes_what_it_names(patch: Patcher, content: str, lines: list[str], expected):
    if expected is None:
        head, _, tail = CODE.rpartition("x = 1")
        expected = f"{head}x = 2{tail}"
    assert await patch.change(content, *lines) == expected.encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\ufeffé\nb\n".encode(), "\ufeffé\nc\n".encode()),
        ("é\nb\n".encode("utf-16"), "é\nc\n".encode("utf-16")),
        ("é\nb\n".encode("latin-1"), "é\nc\n".encode("latin-1")),
    ],
)
async def test_the_encoding_stays(patch: Patcher, content: bytes, expected: bytes):
    assert await patch.change(content, "-b", "+c") == expected


async def test_lines_that_match_loosely_are_counted(patch: Patcher):
    (patch.root / "a.txt").write_text("a  \nb\n")
    observation = await patch("*** Update File: a.txt", " a", "-b", "+c")
    assert observation.fuzz == 1
    assert "1 line(s)" in observation.text


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["*** Update File: a.py", " def go():", "-  return 1", "+  return 2"],
            ["only in blanks", "     2\t"],
        ),
        (["*** Update File: a.py", "-    return 11", "+x"], ["most similar", "return 1"]),
        (["*** Update File: a.py", "@@ class Nowhere:", "-x", "+y"], ["after `@@`", "class Nowhere:"]),
        (
            ["*** Update File: a.py", "@@", "-end", "+END", "@@", "-def go():", "+x"],
            ["mind the order", "line 1"],
        ),
        (["*** Update File: nowhere.py", "-x"], ["no file", "nowhere.py"]),
        (["*** Update File: folder", "-x"], ["is a directory"]),
        (["*** Update File: binary", "-x"], ["binary"]),
        (["*** Update File: a.py"], ["no changes"]),
        (["*** Update File: a.py", "@@"], ["a change needs lines"]),
        (["*** Update File: a.py", "def go():"], ["begin with a space", "Line 5"]),
        (["*** Add File: a.py", "+x"], ["exists already"]),
        (["*** Add File: new.py", "x"], ["begins with `+`"]),
        (["*** Add File: a.py/below", "+x"], ["a.py", "exists"]),
        (["*** Delete File: nowhere.py"], ["no file"]),
        (["*** Delete File: folder"], ["is a directory"]),
        (["*** Update File: a.py", "*** Move to: folder", "-end"], ["exists already"]),
        (["*** Add File: "], ["names no file"]),
        (["*** Add File: a\0b", "+x"], ["NUL"]),
        (["--- a/a.py", "+++ b/a.py"], ["begins with `+`"]),
        (["*** Delete File: a.py", "--- a/a.py"], ["expected", "*** Update File: PATH"]),
        ([], ["changes no file"]),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing_and_says_why(patch: Patcher, lines, words):
    (patch.root / "a.py").write_text("def go():\n    return 1\nend\n")
    (patch.root / "folder").mkdir()
    (patch.root / "binary").write_bytes(b"\0\0")
    before = patch.files()

    observation = (
        await patch("*** Add File: first.txt", "+would be written first", *lines) if lines else await patch()
    )

    assert observation.is_error
    assert all(word in observation.text for word in words), observation.text
    assert patch.files() == before


async def test_an_incomplete_patch_is_refused_with_a_reason(patch: Patcher):
    assert "must begin" in (await patch.raw("--- a\n+++ b\n")).text
    assert "cut off" in (await patch.raw("*** Begin Patch\n*** Add File: a\n+x")).text


async def test_a_very_long_patch_is_applied_at_once(patch: Patcher):
    lines = [f"line {number}" for number in range(40_000)]
    (patch.root / "a").write_text("".join(f"{line}\n" for line in lines))
    changes = [text for line in lines[::100] for text in ("@@", f"-{line}", f"+{line}!")]
    added = [f"+{line}" for line in lines]
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert not (await patch("*** Update File: a", *changes, "*** Add File: b", *added)).is_error
    assert (patch.root / "a").read_text().count("!") == 400


async def test_a_patch_in_a_shells_clothes_is_understood(patch: Patcher):
    observation = await patch.raw(
        "apply_patch <<'EOF'\r\n*** Begin Patch\r\n*** Add File: a\r\n+x\r\n\r\n*** End Patch\r\nEOF\r\n"
    )
    assert not observation.is_error
    assert patch.files() == {"a": "x\n"}


async def test_sections_of_one_file_build_on_one_another(patch: Patcher):
    (patch.root / "a").write_text("1\n2\n")
    observation = await patch(
        "*** Update File: a", "-1", "+one", "*** Update File: a", " one", "-2", "+two",
        "*** Add File: b", "+x", "*** Update File: b", "*** Move to: c",
    )  # fmt: skip
    assert patch.files() == {"a": "one\ntwo\n", "c": "x\n"}
    assert observation.commit is not None
    assert observation.commit.changes["a"].old_content == "1\n2\n"


async def test_a_write_that_fails_half_way_puts_everything_back(patch: Patcher):
    (patch.root / "a").write_text("1\n")
    (patch.root / "a").chmod(0o750)
    (patch.root / "file").write_text("in the way\n")
    before = patch.files()
    observation = await patch(
        "*** Update File: a", "*** Move to: b", "-1", "+one", "*** Add File: c", "+x",
        "*** Add File: file/below", "+x", "*** Delete File: file",
    )  # fmt: skip
    assert observation.is_error
    assert patch.files() == before
    assert (patch.root / "a").stat().st_mode & 0o777 == 0o750


async def test_a_binary_file_can_be_deleted(patch: Patcher):
    (patch.root / "a.png").write_bytes(b"\x89PNG\0")
    assert not (await patch("*** Delete File: a.png")).is_error
    assert patch.files() == {}


async def test_absolute_paths_and_links_reach_their_file(patch: Patcher):
    target = patch.root / "real"
    target.write_text("1\n")
    (patch.root / "link").symlink_to(target)
    assert not (await patch(f"*** Update File: {patch.root}/link", "-1", "+2")).is_error
    assert target.read_text() == "2\n"
    assert os.readlink(patch.root / "link") == str(target)  # noqa: PTH115

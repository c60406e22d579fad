"""Tests of the file editor with calls as a model makes them, on real files."""

import json
import os
from pathlib import Path

import pytest

from agent_runtime.events.content import ImageContent
from agent_runtime.tools.file_editor.models import FileEditorAction, FileEditorObservation
from agent_runtime.tools.file_editor.tool import FileEditorTool
from agent_runtime.tools.tool import ToolContext


class Editor:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.context = ToolContext(root / "work", root / "state")
        self.context.working_dir.mkdir()

    async def __call__(self, command: str, path: Path | str, **fields) -> FileEditorObservation:
        # Each call gets a new tool. The server can restart between calls, so a result must not depend on
        # memory.
        action = FileEditorAction.model_validate({"command": command, "path": str(path), **fields})
        return await FileEditorTool(self.context).run(action)

    def file(self, content: bytes | str, name: str = "a.txt") -> Path:
        path = self.context.working_dir / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def edit(tmp_path: Path) -> Editor:
    return Editor(tmp_path)


async def test_create_writes_the_file_and_its_directories(edit: Editor):
    path = edit.root / "work" / "new" / "a.txt"
    observation = await edit("create", path, file_text="a\n")
    assert path.read_bytes() == b"a\n"
    assert path.stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022) or 0o022)
    assert observation.to_wire() == {
        "content": [{"cache_prompt": False, "type": "text", "text": f"File created successfully at: {path}"}],
        "is_error": False,
        "command": "create",
        "path": str(path),
        "prev_exist": False,
        "new_content": "a\n",
        "kind": "FileEditorObservation",
    }


async def test_create_never_overwrites(edit: Editor):
    path = edit.file("precious")
    assert (await edit("create", path, file_text="x")).is_error
    assert path.read_text() == "precious"
    dangling = edit.root / "work" / "link"
    dangling.symlink_to("nowhere")
    assert (await edit("create", dangling, file_text="x")).is_error


async def test_a_file_is_overwritten_only_on_purpose_and_can_be_brought_back(edit: Editor):
    path = edit.file("old\n")
    done = await edit("create", path, file_text="new\n", overwrite=True)
    assert (path.read_text(), done.old_content, done.new_content) == ("new\n", "old\n", "new\n")
    assert (done.prev_exist, done.is_error) == (True, False)
    assert not (await edit("undo_edit", path)).is_error
    assert path.read_text() == "old\n"
    assert (await edit("create", edit.root / "work", file_text="x", overwrite=True)).is_error
    binary = edit.file(b"\x00\xff", "x.bin")
    assert not (await edit("create", binary, file_text="x", overwrite=True)).is_error


async def test_all_occurrences_are_replaced_when_asked_for(edit: Editor):
    path = edit.file("a b a\r\nA\r\na\r\n")
    done = await edit("str_replace", path, old_str="a", new_str="c", replace_all=True)
    assert path.read_bytes() == b"c b c\r\nA\r\nc\r\n"
    assert "3 occurrences were replaced" in done.text
    assert (await edit("str_replace", path, old_str="a", new_str="c", replace_all=True)).is_error
    ambiguous = await edit("str_replace", path, old_str="c", new_str="d")
    assert "or set `replace_all`" in ambiguous.text


async def test_several_edits_are_made_in_one_call_or_none_of_them(edit: Editor):
    text = "".join(f"line {n}\n" for n in range(1, 41))
    path = edit.file(text)
    edits = [
        {"old_str": "line 30\n", "new_str": "thirty\nand more\n"},
        {"old_str": "line 2\n", "new_str": "two\nand\nmore\n"},
        {"old_str": "thirty", "new_str": "30"},
    ]
    done = await edit("str_replace", path, edits=edits)
    after = path.read_text()
    assert after.startswith("line 1\ntwo\nand\nmore\nline 3\n")
    assert "line 29\n30\nand more\nline 31\n" in after
    assert "     2\ttwo\n" in done.text
    assert "    32\t30\n" in done.text
    assert "line 15" not in done.text
    assert (done.old_content, done.new_content) == (text, after)
    assert not (await edit("undo_edit", path)).is_error
    assert path.read_text() == text

    refused = await edit("str_replace", path, edits=[edits[0], {"old_str": "nowhere"}])
    assert refused.is_error
    assert "Edit 2 of 2" in refused.text
    assert path.read_text() == text


def test_clients_see_the_texts_of_several_edits_in_parameters_that_they_know():
    edits = [{"old_str": "a", "new_str": "b"}, {"old_str": "c"}]
    given = {"command": "str_replace", "path": "/a", "edits": edits, "replace_all": True}
    assert FileEditorAction.model_validate(given).to_wire() == {
        "command": "str_replace",
        "path": "/a",
        "old_str": "a\nc",
        "new_str": "b\n",
        "kind": "FileEditorAction",
    }


async def test_view_numbers_the_lines(edit: Editor):
    path = edit.file("one\ntwo\nthree\n")
    assert (
        await edit("view", path)
    ).text == f"{path}, lines 1-3 of 3:\n     1\tone\n     2\ttwo\n     3\tthree"
    assert (await edit("view", path, view_range=[2, 2])).text.endswith("of 3:\n     2\ttwo")
    assert (await edit("view", path, view_range=[2, -1])).text.endswith("\n     2\ttwo\n     3\tthree")
    assert (await edit("view", path, view_range=[3, 99])).text.endswith("     3\tthree")
    assert "empty" in (await edit("view", edit.file("", "empty"))).text


@pytest.mark.parametrize("view_range", [[0, 1], [4, 5], [3, 2], [1], [1, 2, 3]])
async def test_an_impossible_range_is_refused(edit: Editor, view_range):
    assert (await edit("view", edit.file("1\n2\n3\n"), view_range=view_range)).is_error


async def test_a_long_file_is_clipped_and_says_how_to_go_on(edit: Editor):
    path = edit.file("".join(f"line {n}\n" for n in range(1, 5001)))
    text = (await edit("view", path)).text
    assert len(text) < 16_500
    last = int(text.splitlines()[-2].split("\t")[0])
    assert text.endswith(f"<response clipped> Ask for view_range [{last + 1}, 5000] to go on.")
    assert "more characters in this line" in (await edit("view", edit.file("x" * 50_000))).text


async def test_a_directory_is_listed_two_levels_deep_without_hidden_entries(edit: Editor):
    work = edit.root / "work"
    (work / "a" / "b" / "c").mkdir(parents=True)
    (work / "a" / "b" / "deep.txt").touch()
    (work / ".git").mkdir()
    (work / "node_modules" / "x").mkdir(parents=True)
    text = (await edit("view", work)).text
    assert text.splitlines() == [
        *(f"{work}/{name}" for name in ("", "a/", "a/b/", "node_modules/")),
        "(1 hidden entries here are not shown.)",
    ]


@pytest.mark.parametrize(
    ("name", "content", "url"),
    [
        ("x.png", b"\x89PNG\r\n", "data:image/png;base64,iVBORw0K"),
        ("x.JPG", b"\xff\xd8\xff", "data:image/jpeg;base64,/9j/"),
        ("jpeg.png", b"\xff\xd8\xff", "data:image/jpeg;base64,/9j/"),
        ("x.gif", b"GIF89a", "data:image/gif;base64,R0lGODlh"),
        ("x.webp", b"RIFF\n\0\0\0WEBP", "data:image/webp;base64,UklGRgoAAABXRUJQ"),
        ("x.bmp", b"BM\0", "data:image/bmp;base64,Qk0A"),
    ],
)
async def test_an_image_is_shown_as_an_image(edit: Editor, name: str, content: bytes, url: str):
    observation = await edit("view", edit.file(content, name))
    assert observation.content[1] == ImageContent(image_urls=[url])


async def test_what_would_be_refused_as_an_image_is_not_sent(edit: Editor):
    assert "none that can be shown" in (await edit("view", edit.file("<html>", "x.png"))).text
    huge = edit.file(b"\x89PNG\r\n", "huge.png")
    os.truncate(huge, 4_000_000)
    observation = await edit("view", huge)
    assert observation.is_error
    assert "smaller copy" in observation.text


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "Text"]},
        {
            "cell_type": "code",
            "source": "print(1)\n2",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2", "image/png": "AAAA"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: v"]},
            ],
        },
    ]
}


async def test_a_notebook_is_shown_as_cells_and_edited_as_text(edit: Editor):
    path = edit.file(json.dumps(NOTEBOOK, indent=1), "a.ipynb")
    text = (await edit("view", path)).text
    assert text.split("\n\n", 1)[1] == (
        "[1] markdown:\n# Title\nText\n\n"
        "[2] code:\nprint(1)\n2\n"
        "[2] output:\n1\n[2] output:\n2\n[2] output:\n(image/png, not shown)\n[2] output:\nE: v"
    )
    assert '"cells": [' in (await edit("view", path, view_range=[1, -1])).text
    await edit("str_replace", path, old_str="print(1)", new_str="print(3)")
    assert "print(3)" in (await edit("view", path)).text


async def test_a_long_notebook_is_clipped_and_a_damaged_one_is_shown_as_text(edit: Editor):
    cell = {"cell_type": "code", "source": "x" * 1000, "outputs": []}
    text = (await edit("view", edit.file(json.dumps({"cells": [cell] * 40}), "long.ipynb"))).text
    assert len(text) < 17_000
    assert text.endswith("<response clipped> 25 more cells.")
    assert (await edit("view", edit.file('{"cells": [1]}', "bad.ipynb"))).text.endswith('1\t{"cells": [1]}')


async def test_str_replace_changes_exactly_one_place(edit: Editor):
    path = edit.file("def f():\n    return 1\n\ndef g():\n    return 2\n")
    observation = await edit("str_replace", path, old_str="    return 2", new_str="    return 3")
    assert path.read_text() == "def f():\n    return 1\n\ndef g():\n    return 3\n"
    assert "     5\t    return 3" in observation.text
    assert observation.old_content == "def f():\n    return 1\n\ndef g():\n    return 2\n"
    assert observation.new_content == path.read_text()
    assert observation.prev_exist
    await edit("str_replace", path, old_str="def g():\n    return 3\n")
    assert path.read_text() == "def f():\n    return 1\n\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("x = 1", "y", ["2 times", "lines 1, 3"]),
        ("  if x:\n      pass", "y", ["differ from it only in blanks", "     4\tif x:"]),
        ("prnt('hello worlds')", "y", ["most similar", "     6\tprint('hello world')"]),
        ("nothing like it at all", "y", ["No part"]),
        ("x = 1", "x = 1", ["same"]),
        ("", "y", ["empty"]),
    ],
)
async def test_a_replacement_that_does_not_fit_explains_itself(edit: Editor, old, new, words):
    path = edit.file("x = 1\ny = 2\nx = 1\nif x:\n    pass\nprint('hello world')\n")
    before = path.read_bytes()
    observation = await edit("str_replace", path, old_str=old, new_str=new)
    assert observation.is_error
    assert all(word in observation.text for word in words), observation.text
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\nb\r\nc\r\n", "c\n", "d\n", b"a\nb\r\nd\r\n"),
        (b"a\r\nb\nc\n", "b\nc", "x\ny", b"a\r\nx\ny\n"),
        ("\ufeffé\n".encode(), "é", "ü", "\ufeffü\n".encode()),
        ("é\n".encode("utf-16"), "é", "ü", "ü\n".encode("utf-16")),
        ("é=1\n".encode("latin-1"), "=1", "=ü", "é=ü\n".encode("latin-1")),
    ],
)
async def test_encoding_and_line_endings_stay(edit: Editor, content, old, new, expected):
    path = edit.file(content)
    assert not (await edit("str_replace", path, old_str=old, new_str=new)).is_error
    assert path.read_bytes() == expected


@pytest.mark.parametrize(
    ("encoding", "text", "old", "new"),
    [
        ("shift_jis", "# 設定ファイル\nprint('こんにちは、世界')\n", "世界", "皆さん"),
        ("euc_jp", "# 設定ファイル\nprint('こんにちは、世界')\n", "世界", "皆さん"),
        ("gb18030", "# 这是一个配置文件 用来说明程序怎样运行\nprint('你好 世界')\n", "世界", "大家"),
        ("big5", "# 設定檔案\nprint('你好 世界')\n", "世界", "大家"),
        ("euc_kr", "# 설정 파일\nprint('안녕하세요 세계')\n", "세계", "여러분"),
        ("cp1251", "# Файл настроек\nprint('Привет, мир!')\n", "мир", "все"),
        ("koi8_r", "# Файл настроек\nprint('Привет, мир!')\n", "мир", "все"),
        ("cp1252", "# prix\nprint('“50 € déjà”')\n", "50 €", "60 €"),
        ("latin-1", "# Réglages\nprint('déjà vu à Noël')\n", "Noël", "Pâques"),
    ],
)
async def test_files_of_before_unicode_are_read_edited_and_kept(
    edit: Editor, encoding: str, text: str, old: str, new: str
):
    path = edit.file(text.encode(encoding))

    assert old in (await edit("view", path)).text
    assert not (await edit("str_replace", path, old_str=old, new_str=new)).is_error

    assert path.read_bytes() == text.replace(old, new).encode(encoding)


async def test_bytes_that_are_no_text_of_any_kind_come_back_unchanged(edit: Editor):
    noise = bytes(range(0x80, 0x100))
    path = edit.file(noise + b"\nend\n")

    assert not (await edit("str_replace", path, old_str="end", new_str="END")).is_error

    assert path.read_bytes() == noise + b"\nEND\n"


async def test_text_that_the_encoding_cannot_hold_is_refused(edit: Editor):
    path = edit.file("é=1\n".encode("latin-1"))
    assert "latin-1" in (await edit("str_replace", path, old_str="1", new_str="€")).text
    assert path.read_bytes() == "é=1\n".encode("latin-1")


@pytest.mark.parametrize(
    ("content", "after", "new", "expected"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb", 2, "x", "a\nb\nx\n"),
        ("", 0, "x", "x\n"),
        ("a\r\nb\r\n", 1, "x", "a\r\nx\r\nb\r\n"),
        ("a\x0cb\n", 1, "x", "a\x0cb\nx\n"),
    ],
)
async def test_insert_puts_lines_after_a_line(edit: Editor, content, after, new, expected):
    path = edit.file(content)
    observation = await edit("insert", path, insert_line=after, new_str=new)
    assert not observation.is_error
    assert path.read_bytes() == expected.encode()
    assert observation.new_content == expected


async def test_insert_beyond_the_end_is_refused(edit: Editor):
    assert "0 to 2" in (await edit("insert", edit.file("a\nb\n"), insert_line=3, new_str="x")).text


async def test_undo_takes_back_edits_one_by_one_also_after_a_restart(edit: Editor):
    path = edit.root / "work" / "a.txt"
    await edit("create", path, file_text="one\r\n")
    await edit("str_replace", path, old_str="one", new_str="two")
    await edit("insert", path, insert_line=1, new_str="three")
    assert (await edit("undo_edit", path)).new_content == "two\r\n"
    assert (await edit("undo_edit", path)).new_content == "one\r\n"
    assert path.read_bytes() == b"one\r\n"
    assert "removed" in (await edit("undo_edit", path)).text
    assert not path.exists()
    assert (await edit("undo_edit", path)).is_error


async def test_undo_does_not_lose_changes_made_by_others(edit: Editor):
    path = edit.file("one")
    await edit("str_replace", path, old_str="one", new_str="two")
    path.write_text("by hand")
    assert (await edit("undo_edit", path)).is_error
    assert path.read_text() == "by hand"


async def test_a_relative_path_is_refused_with_the_absolute_one(edit: Editor):
    observation = await edit("view", "src/../a.txt")
    assert observation.is_error
    assert str(edit.root / "work" / "a.txt") in observation.text


async def test_the_mode_of_a_file_and_a_link_to_it_stay(edit: Editor):
    script = edit.file("echo 1\n", "run.sh")
    script.chmod(0o755)
    link = edit.root / "work" / "link"
    link.symlink_to(script)
    await edit("str_replace", link, old_str="1", new_str="2")
    assert link.is_symlink()
    assert script.read_text() == "echo 2\n"
    assert script.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("command", "path", "fields"),
    [
        ("view", "/no/such/file", {}),
        ("str_replace", "/tmp", {"old_str": "a", "new_str": "b"}),  # noqa: S108
        ("str_replace", "/no/such", {}),
        ("insert", "/no/such", {"new_str": "x"}),
        ("create", "/proc/no/such", {"file_text": "x"}),
        ("create", "/tmp/x" + "x" * 300, {"file_text": "x"}),  # noqa: S108
        ("view", "/tmp/\ud800", {}),  # noqa: S108
        ("view", "/tmp/a\0b", {}),  # noqa: S108
        ("view", "", {}),
        ("create", "/tmp/never", {}),  # noqa: S108
    ],
)
async def test_what_cannot_be_done_is_an_answer_and_not_a_crash(edit: Editor, command, path, fields):
    observation = await edit(command, path, **fields)
    assert observation.is_error
    assert observation.text


async def test_binary_and_huge_files_are_left_to_the_terminal(edit: Editor):
    assert "binary" in (await edit("view", edit.file(b"\x7fELF\0\0"))).text
    huge = edit.file("")
    os.truncate(huge, 11 * 1024 * 1024)
    assert "terminal" in (await edit("view", huge)).text

"""Tests of the tool that shows an image file to the model."""

import base64
import os
import struct
from pathlib import Path

import pytest

from agent_runtime.events.content import ImageContent
from agent_runtime.tools.arguments import ToolArgumentError, model_schema, parse_arguments
from agent_runtime.tools.file_editor.models import FileEditorObservation
from agent_runtime.tools.tool import ToolContext
from agent_runtime.tools.view_image import ViewImageTool


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height)


JPEG = b"\xff\xd8" + b"\xff\xe0\0\x04ab" + b"\xff\xc0\0\x11\x08" + struct.pack(">HH", 30, 40)
WEBP = b"RIFF\0\0\0\0WEBP"
IMAGES = {
    "a.png": (png(640, 480), "PNG image, 640 x 480 pixels"),
    "a.JPG": (JPEG, "JPEG image, 40 x 30 pixels"),
    "a.jpeg": (b"\xff\xd8\xffcut off", "JPEG image, 1"),
    "a.gif": (b"GIF89a" + struct.pack("<HH", 7, 9), "GIF image, 7 x 9 pixels"),
    "a.bmp": (b"BM" + bytes(16) + struct.pack("<ii", 5, -6), "BMP image, 5 x 6 pixels"),
    "lossy.webp": (WEBP + b"VP8 " + bytes(10) + struct.pack("<HH", 12, 34), "WEBP image, 12 x 34 pixels"),
    "exact.webp": (
        WEBP + b"VP8L" + bytes(5) + struct.pack("<I", 11 | 33 << 14),
        "WEBP image, 12 x 34 pixels",
    ),
    "more.webp": (WEBP + b"VP8X" + bytes(8) + b"\x0b\0\0\x21\0\0", "WEBP image, 12 x 34 pixels"),
}


@pytest.fixture
def tool(tmp_path: Path) -> ViewImageTool:
    return ViewImageTool(ToolContext(tmp_path, tmp_path / "state"))


async def look(tool: ViewImageTool, path: str) -> FileEditorObservation:
    return await tool.run(parse_arguments(tool, {"path": path, "summary": "look"}))


@pytest.mark.parametrize("name", IMAGES)
async def test_an_image_is_shown_with_its_size_and_format(tool: ViewImageTool, tmp_path: Path, name: str):
    data, words = IMAGES[name]
    (tmp_path / name).write_bytes(data)

    seen = await look(tool, name)

    assert isinstance(seen.content[1], ImageContent)
    kind, _, encoded = seen.content[1].image_urls[0].partition(";base64,")
    assert kind == f"data:image/{words.split()[0].lower()}"
    assert base64.b64decode(encoded) == data
    assert seen.text.startswith(f"{tmp_path / name}: {words}")


async def test_what_cannot_be_shown_is_explained(tool: ViewImageTool, tmp_path: Path):
    (tmp_path / "page.png").write_bytes(b"<html>")
    (tmp_path / "wide.png").write_bytes(png(9000, 10))
    (tmp_path / "huge.png").write_bytes(png(10, 10))
    os.truncate(tmp_path / "huge.png", 4_000_000)
    (tmp_path / "notes.txt").write_text("x")

    reasons = {
        "page.png": "none that can be shown",
        "wide.png": "9000 x 10 pixels",
        "huge.png": "smaller copy",
        "notes.txt": "not named as an image",
        "missing.png": "There is no file",
        ".": "is a directory",
        "nul\0.png": "NUL",
    }
    for path, reason in reasons.items():
        seen = await look(tool, path)
        assert seen.is_error
        assert reason in seen.text


def test_the_model_gives_a_path_and_clients_see_the_view_of_a_file(tool: ViewImageTool):
    function = model_schema(tool)["function"]

    assert isinstance(function, dict)
    assert list(function["parameters"]["properties"]) == ["path"]
    assert parse_arguments(tool, {"path": "a.png"}).to_wire() == {
        "command": "view",
        "path": "a.png",
        "kind": "FileEditorAction",
    }
    with pytest.raises(ToolArgumentError, match="Its parameters are: path"):
        parse_arguments(tool, {"file": "a.png"})

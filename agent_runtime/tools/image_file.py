"""Reads image files for models. Finds the format and size of an image without decoding the image."""

import base64
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.tools.file_editor.models import EditError

# Models accept images of about 5 MB in base64. Base64 makes the data a third longer.
MAX_IMAGE_BYTES = 3_750_000
MAX_SIDE_PIXELS = 8_000
"""The largest width and height of an image that model vendors accept. See
https://docs.anthropic.com/en/docs/build-with-claude/vision
"""
IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp"})
_TYPES = (
    (re.compile(rb"\x89PNG\r\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpeg"),
    (re.compile(rb"GIF8[79]a"), "gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "webp"),
    (re.compile(rb"BM"), "bmp"),
)
# Start of frame: every kind but tables (C4), extensions (C8) and arithmetic coding (CC).
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class Image:
    """An image file that a model can read. `type`: the format, the last part of the media type `image/…`.
    `size`: width and height in pixels; None if the file does not contain them.
    """

    data: bytes
    type: str
    size: tuple[int, int] | None

    @property
    def url(self) -> str:
        return f"data:image/{self.type};base64,{base64.b64encode(self.data).decode()}"

    def __str__(self) -> str:
        pixels = f", {self.size[0]} x {self.size[1]} pixels" if self.size else ""
        return f"{self.type.upper()} image{pixels}, {len(self.data):,} bytes"


def read_image(path: Path) -> Image | None:
    """Reads an image file and returns the image. Returns None if the file name does not have the ending of an
    image format. Raises OSError if the file cannot be read.

    Raises EditError for an image that model vendors refuse. Such an image would make all later model calls of
    the conversation fail.
    """
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        return None
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise EditError(
            f"{path} is too large to be shown: the limit is {MAX_IMAGE_BYTES:,} bytes. Make a smaller copy."
        )
    data = path.read_bytes()
    found = next((name for signature, name in _TYPES if signature.match(data)), None)
    if found is None:
        raise EditError(
            f"{path} is named as an image, but its {len(data):,} bytes are none that can be shown."
        )
    size = _size(found, data)
    if size is not None and max(size) > MAX_SIDE_PIXELS:
        raise EditError(
            f"{path} has {size[0]} x {size[1]} pixels; at most {MAX_SIDE_PIXELS} a side can be shown. "
            "Make a smaller copy, or cut out the part that matters."
        )
    return Image(data, found, size)


def _size(kind: str, data: bytes) -> tuple[int, int] | None:
    try:
        match kind:
            case "png":
                return struct.unpack_from(">II", data, 16)
            case "gif":
                return struct.unpack_from("<HH", data, 6)
            case "bmp":
                width, height = struct.unpack_from("<ii", data, 18)
                return abs(width), abs(height)
            case "webp":
                return _webp_size(data)
            case _:
                return _jpeg_size(data)
    except struct.error:  # cut off: the viewer will report it
        return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", data, 24)
            return low_width + (high_width << 16) + 1, low_height + (high_height << 16) + 1
        case _:
            return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while True:
        prefix, marker, length = struct.unpack_from(">BBH", data, at)
        if prefix != 0xFF:
            return None
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length

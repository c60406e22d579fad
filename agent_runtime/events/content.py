"""Defines the parts of messages and tool results: texts and images."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class TextContent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    cache_prompt: bool = False
    type: Literal["text"] = "text"
    text: str


class ImageContent(BaseModel):
    """One or more images in a message, given by URL. A `data:` URL contains the bytes of the image."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cache_prompt: bool = False
    type: Literal["image"] = "image"
    image_urls: list[str]


Content = TextContent | ImageContent

"""What messages and observations are made of: pieces of text and images."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class TextContent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    cache_prompt: bool = False
    type: Literal["text"] = "text"
    text: str


class ImageContent(BaseModel):
    """Images by URL; `data:` URLs carry the bytes themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cache_prompt: bool = False
    type: Literal["image"] = "image"
    image_urls: list[str]


Content = TextContent | ImageContent

"""The parts of messages and tool results: texts and images."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class TextContent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    cache_prompt: bool = False
    type: Literal["text"] = "text"
    text: str


class ImageContent(BaseModel):
    """One or more images, given by their URLs. A `data:` URL contains the image itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cache_prompt: bool = False
    type: Literal["image"] = "image"
    image_urls: list[str]


Content = TextContent | ImageContent

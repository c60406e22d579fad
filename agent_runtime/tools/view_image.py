"""A tool that shows an image to the model: a screenshot, a plot, a design.

In events for clients, a call looks like a `view` of the file editor, because every client knows this form;
only the tool's name differs. If the model cannot see images, the request to the model contains a note in
place of the image (`llm/outgoing.py`). This is decided for each request, because the model may change between
two calls.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from pydantic import Field, JsonValue

from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads
from agent_runtime.tools.file_editor.models import EditError, FileEditorAction, FileEditorObservation
from agent_runtime.tools.gemini.paths import answer, resolve
from agent_runtime.tools.image_file import IMAGE_SUFFIXES, MAX_IMAGE_BYTES, MAX_SIDE_PIXELS, read_image
from agent_runtime.tools.tool import READS, Action, Tool, ToolContext

_DESCRIPTION = """\
Look at an image (png, jpg, gif, webp or bmp) of at most {max_bytes:,} bytes and {max_side} pixels a side.
Use it for screenshots, plots and designs, and to check what you have drawn. The text answer names size and
format. If you cannot see images you are told so: then rely on tools that describe them, such as `file`."""


class _Arguments(Action):
    path: str = Field(description="The image file, absolute or relative to the working directory.")


class ViewImageTool(Tool[FileEditorAction]):
    name = "view_image"
    kind = "FileEditorTool"
    annotations = READS

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(max_bytes=MAX_IMAGE_BYTES, max_side=MAX_SIDE_PIXELS)

    def parameters(self) -> dict[str, JsonValue]:
        (path,) = _Arguments.model_fields.values()
        return {
            "properties": {"path": {"type": "string", "description": path.description}},
            "required": ["path"],
        }

    def parameter_names(self) -> Collection[str]:
        return _Arguments.model_fields

    def parse(self, arguments: Mapping[str, JsonValue]) -> FileEditorAction:
        return FileEditorAction(command="view", path=_Arguments.model_validate(arguments).path)

    def claims(self, action: FileEditorAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / action.path, is_shared=True),)

    def effects(self, action: FileEditorAction) -> Sequence[Effect]:
        return (Reads(action.path),)

    async def run(self, action: FileEditorAction) -> FileEditorObservation:
        return await asyncio.to_thread(self._answer, action.path)

    def _answer(self, given: str) -> FileEditorObservation:
        def failed(reason: str) -> FileEditorObservation:
            return _observe(given, TextContent(text=reason), is_error=True)

        return answer(lambda: self._look(given), failed)

    def _look(self, given: str) -> FileEditorObservation:
        path = resolve(given, self._working_dir)
        if path.is_dir():
            raise EditError(f"{path} is a directory.")
        if not path.exists():
            raise EditError(f"There is no file {path}.")
        image = read_image(path)
        if image is None:
            suffixes = ", ".join(sorted(IMAGE_SUFFIXES))
            raise EditError(f"{path} is not named as an image: the name must end in one of {suffixes}.")
        return _observe(str(path), TextContent(text=f"{path}: {image}"), ImageContent(image_urls=[image.url]))


def _observe(path: str, *content: Content, is_error: bool = False) -> FileEditorObservation:
    return FileEditorObservation(content=list(content), is_error=is_error, command="view", path=path)

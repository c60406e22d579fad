"""The action and observation of the file editor."""

from typing import Literal

from pydantic import Field

from agent_runtime.tools.tool import Action, OwnObservation

Command = Literal["view", "create", "str_replace", "insert", "undo_edit"]


class FileEditorAction(Action):
    command: Command = Field(description="What to do with the file.")
    path: str = Field(description="Absolute path of the file, or of a directory to `view`.")
    file_text: str | None = Field(default=None, description="For `create`, required: the whole new file.")
    old_str: str | None = Field(
        default=None,
        description="For `str_replace`, required: the text to replace, exactly as it stands in the file.",
    )
    new_str: str | None = Field(
        default=None,
        description="For `str_replace`: the replacement; left out, the text is deleted. "
        "For `insert`, required: the lines to put in.",
    )
    insert_line: int | None = Field(
        default=None,
        ge=0,
        description="For `insert`, required: the number of the line after which to insert; 0 is the top.",
    )
    view_range: list[int] | None = Field(
        default=None,
        description="For `view` of a file: first and last line, counted from 1. [11, 12] shows two lines, "
        "[11, -1] everything from line 11.",
    )


class FileEditorObservation(OwnObservation):
    command: Command
    path: str | None = None
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None


class EditError(Exception):
    """The command cannot be done; the text tells the model why and what to do instead."""

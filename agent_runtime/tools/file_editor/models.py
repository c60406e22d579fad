"""The action (arguments) and the observation (result) of the file editor tool."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent_runtime.tools.tool import Action, OwnObservation

MAX_EDITS = 100

Command = Literal["view", "create", "str_replace", "insert", "undo_edit"]


class Replacement(BaseModel):
    """One of several replacements in one call of the file editor: the text `old_str` in the file is replaced
    by `new_str`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    old_str: str = Field(description="The text to replace, exactly as it stands in the file by then.")
    new_str: str = Field(default="", description="The replacement; left out, the text is deleted.")
    replace_all: bool = Field(default=False, description="True replaces every occurrence.")


class FileEditorAction(Action):
    off_wire: ClassVar[frozenset[str]] = frozenset({"edits", "overwrite", "replace_all"})

    command: Command = Field(description="What to do with the file.")
    path: str = Field(description="Absolute path of the file, or of a directory to `view`.")
    file_text: str | None = Field(default=None, description="For `create`, required: the whole new file.")
    old_str: str | None = Field(
        default=None,
        description="For `str_replace`, required unless `edits` is given: the text to replace, exactly as it "
        "stands in the file.",
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
    replace_all: bool | None = Field(
        default=None,
        description="For `str_replace`: true replaces every occurrence of `old_str`, however many there are.",
    )
    edits: list[Replacement] | None = Field(
        default=None,
        max_length=MAX_EDITS,
        description="For `str_replace`, in place of `old_str` and `new_str`: several replacements in this "
        "file, made one after the other. If one of them cannot be made, none is.",
    )
    overwrite: bool | None = Field(
        default=None,
        description="For `create`: true replaces the whole content of a file that exists. `undo_edit` brings "
        "the old content back.",
    )

    def to_wire(self) -> dict[str, JsonValue]:
        """Returns the action as JSON for clients of the agent server.

        A call may contain several replacements (`edits`), but clients only know one: `old_str` and `new_str`.
        So `old_str` gets the old texts of all replacements, one below the other, and `new_str` gets all new
        texts. A user who must confirm the call then sees all replacements.
        """
        wire = super().to_wire()
        if self.edits:
            wire["old_str"] = "\n".join(edit.old_str for edit in self.edits)
            wire["new_str"] = "\n".join(edit.new_str for edit in self.edits)
        return {**{name: value for name, value in wire.items() if name != "kind"}, "kind": wire["kind"]}


class FileEditorObservation(OwnObservation):
    command: Command
    path: str | None = None
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None


class EditError(Exception):
    """The error that is raised when a command of the file editor is not possible. The text tells the model
    why and what to do instead.
    """

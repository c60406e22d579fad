"""Translates two fields of Anthropic's Messages protocol for other vendors' models. `output_config` sets the
form of the reply. `context_management` says what the vendor removes from old parts of the conversation. This
module does no I/O.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from app_server.core.errors import BadRequest
from app_server.llm_gateway.forwarding import fields
from app_server.llm_gateway.forwarding.fields import Closed, Object

_CLEARS_THINKING = "clear_thinking_20251015"
"""The type of the entry in `context_management` that requests to remove the thinking of earlier replies. This
request needs no translation, because models of other vendors get earlier thinking only if they need it.
"""


class _Format(Closed):
    type: Literal["json_schema"]
    json_schema: Object = Field(alias="schema")


class _Config(Closed):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    format: _Format | None = None


class _Edit(Closed):
    type: str
    keep: Any = None


class _Management(Closed):
    edits: list[_Edit] = []


class _Stated(Closed):
    output_config: _Config | None = None


def response_format(output_config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the field of a chat completion that sets the form of the reply (a JSON Schema). Returns an
    empty dictionary if `output_config`, the field of a Messages call, sets no form. The effort in
    `output_config` is translated by the module `thinking`.

    Raises BadRequest `unknown_model_field` if `output_config` has a field that is not allowed. Raises
    RequestValidationError for a wrong type.
    """
    stated = {"output_config": output_config}
    fields.check(stated, _Stated)
    config = _Stated.model_validate(stated).output_config
    if config is None or config.format is None:
        return {}
    # Anthropic promises that the reply has this form. `strict` is what promises it here.
    schema = {"name": "output", "schema": config.format.json_schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def check_management(context_management: Mapping[str, Any] | None) -> None:
    """Checks the field `context_management` of a call. The field may only ask the vendor to remove the
    thinking of earlier replies. Other requests are supported only by Anthropic's own models. Raises
    BadRequest `model_field_unsupported` for such a request. Raises BadRequest `unknown_model_field` for a
    field that is not allowed. Raises RequestValidationError for a wrong type.
    """
    if context_management is None:
        return
    fields.check(dict(context_management), _Management)
    for edit in _Management.model_validate(context_management).edits:
        if edit.type != _CLEARS_THINKING:
            raise BadRequest(
                f"Only Anthropic's own models take the edit {edit.type[:100]!r} of `context_management`.",
                code="model_field_unsupported",
                fix="Leave the edit out, or choose a model of Anthropic for the conversation.",
            )

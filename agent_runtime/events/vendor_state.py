"""Defines the type of the data that a model's vendor adds to a reply and that only this vendor understands.
Later prompts must contain the data again, so it is stored with the event.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject


class VendorState(BaseModel):
    """The data that a model's vendor added to a reply and expects back in later requests. `model`: the model
    that returned the data; the data is never sent to another vendor's model.

    `message`: fields that belong to the whole reply. If the reply has several tool calls, only the event of
    the first call contains these fields.

    `call`: fields that belong to one tool call. Some vendors give a call an id that other vendors may refuse.
    Such a call gets a different id in its event, and the vendor's id is stored in `call`, in the field `id`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str
    message: JsonObject = {}
    call: JsonObject = {}


# The field is left out if there is no state, also in snapshots. Most models return no such data.
OptionalVendorState = Annotated[VendorState | None, Field(exclude_if=lambda state: state is None)]

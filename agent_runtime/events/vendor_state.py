"""Private data of a model's vendor that must be sent back with later prompts. It is stored with the event."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject


class VendorState(BaseModel):
    """`model`: the model that returned the data. Another vendor's model never receives it.

    `message`: fields of the whole reply; with several calls they are on the first call. `call`: fields of the
    call, and its `id` if not every vendor accepts that id.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str
    message: JsonObject = {}
    call: JsonObject = {}


# The field is left out if there is no state, also in snapshots. Most models return no such data.
KeptState = Annotated[VendorState | None, Field(exclude_if=lambda state: state is None)]

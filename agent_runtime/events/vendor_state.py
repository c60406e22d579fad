"""What a model's vendor returned for itself, kept with the event."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject


class VendorState(BaseModel):
    """model: which one returned it; another vendor's never gets it.

    message: fields of the whole reply; with several calls they stand on the first. call: fields of the call,
    and its `id` where that is none that every vendor takes.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str
    message: JsonObject = {}
    call: JsonObject = {}


# Left out where there is none, in snapshots, too: most models return nothing for themselves.
KeptState = Annotated[VendorState | None, Field(exclude_if=lambda state: state is None)]

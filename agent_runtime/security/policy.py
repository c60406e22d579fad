"""The confirmation policies: they say when the agent must ask the user before it acts."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import JsonObject
from agent_runtime.security.finding import at_least
from agent_runtime.security.kinds import read_kind


class _Policy(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class NeverConfirm(_Policy):
    kind: Literal["NeverConfirm"] = "NeverConfirm"

    def asks(self, risk: SecurityRisk) -> bool:
        del risk
        return False


class AlwaysConfirm(_Policy):
    kind: Literal["AlwaysConfirm"] = "AlwaysConfirm"

    def asks(self, risk: SecurityRisk) -> bool:
        del risk
        return True


class ConfirmRisky(_Policy):
    """A confirmation policy that asks the user before actions with a risk of `threshold` or higher.
    `confirm_unknown`: whether the policy also asks if the risk of an action is unknown.
    """

    threshold: Literal["LOW", "MEDIUM", "HIGH"] = "HIGH"
    confirm_unknown: bool = True
    kind: Literal["ConfirmRisky"] = "ConfirmRisky"

    def asks(self, risk: SecurityRisk) -> bool:
        return self.confirm_unknown if risk == "UNKNOWN" else at_least(risk, self.threshold)


Policy = NeverConfirm | AlwaysConfirm | ConfirmRisky

_POLICY: TypeAdapter[Policy] = TypeAdapter(Annotated[Policy, Field(discriminator="kind")])


def read_policy(value: JsonObject) -> Policy:
    """Returns the confirmation policy that the JSON object `value` describes. Raises UnsupportedKindError if
    its `kind` is not known or its fields are not valid.
    """
    return read_kind(_POLICY, value, "confirmation policy")

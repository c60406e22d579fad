"""Translates confirmation modes into settings of the agent server. A confirmation mode is the user's choice
of when the agent asks before an action. The settings are the confirmation policy (which actions need an
approval) and the risk analyzer (how risky an action is). Does no I/O.
"""

from collections.abc import Mapping
from typing import Any

from app_server.settings.confirmation import ConfirmationMode

_POLICIES: dict[ConfirmationMode, dict[str, Any]] = {
    ConfirmationMode.ALWAYS: {"kind": "AlwaysConfirm"},
    ConfirmationMode.RISKY: {"kind": "ConfirmRisky", "threshold": "HIGH", "confirm_unknown": True},
    ConfirmationMode.NEVER: {"kind": "NeverConfirm"},
}
# The model's rating counts if it gives one. Otherwise the rules for commands and files decide.
_ANALYZER = {
    "kind": "EnsembleSecurityAnalyzer",
    "analyzers": [{"kind": "PolicyRailSecurityAnalyzer"}, {"kind": "LLMSecurityAnalyzer"}],
}


def policy_of(mode: ConfirmationMode) -> dict[str, Any]:
    return _POLICIES[mode]


def mode_of(policy: Mapping[str, Any]) -> ConfirmationMode | None:
    """Returns the confirmation mode (the user's choice of when the agent asks before an action) that belongs
    to this confirmation policy of the agent server.

    Returns None if the policy belongs to no mode. This is possible because an API client can set any policy.
    """
    return next((mode for mode, known in _POLICIES.items() if known.items() <= policy.items()), None)


def analyzer_of(mode: ConfirmationMode) -> dict[str, Any] | None:
    """Returns the settings of the agent server's risk analyzer, which rates how risky an action is, for this
    confirmation mode. Returns None for the mode NEVER, in which the agent never asks, because no rating is
    needed then.
    """
    return None if mode is ConfirmationMode.NEVER else _ANALYZER

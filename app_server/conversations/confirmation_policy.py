"""Translates the user's confirmation mode, which says when the agent must ask before an action, into the
confirmation policy and the risk analyzer of the agent server. Does no I/O.
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
    """Returns the confirmation mode to which this confirmation policy belongs. Returns None if it belongs to
    no mode, for example because a program has set it through the API.
    """
    return next((mode for mode, known in _POLICIES.items() if known.items() <= policy.items()), None)


def analyzer_of(mode: ConfirmationMode) -> dict[str, Any] | None:
    """Returns the settings of the risk analyzer for this confirmation mode. Returns None for the mode in
    which the agent never asks before an action, because this mode needs no analysis of risks.
    """
    return None if mode is ConfirmationMode.NEVER else _ANALYZER

"""Translates the confirmation mode that a user chooses into the policy and analyzer for the agent server.
Pure.
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
    """Returns the mode for this policy. Returns None for any other policy, for example one set by
    a program.
    """
    return next((mode for mode, known in _POLICIES.items() if known.items() <= policy.items()), None)


def analyzer_of(mode: ConfirmationMode) -> dict[str, Any] | None:
    """Returns the risk analyzer for this mode. Returns None if the agent never asks, as no analysis is needed
    then.
    """
    return None if mode is ConfirmationMode.NEVER else _ANALYZER

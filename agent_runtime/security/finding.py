"""The result of the security analysis of one action: the risks that were found."""

from dataclasses import dataclass

from agent_runtime.events.action import SecurityRisk

_ORDER: dict[SecurityRisk, int] = {"LOW": 0, "MEDIUM": 1, "UNKNOWN": 2, "HIGH": 3}


@dataclass(frozen=True)
class Finding:
    """One risk that the security analysis has found in an action.

    `rule`: the stable name of the security rule. `reason`: a text for people that completes a sentence
    beginning with "it", such as "it deletes files".
    """

    rule: str
    risk: SecurityRisk
    reason: str


@dataclass(frozen=True)
class Judgement:
    """The result of the security analysis of one action.

    `likeness`: a text that is equal for similar actions. If the user approves one action and all similar
    actions, later actions with the same `likeness` need no confirmation.
    """

    findings: tuple[Finding, ...]
    likeness: str


FETCH_TO_EXEC = Finding("fetch-to-exec", "HIGH", "runs a program that it fetches or decodes first")
SENDS_SECRETS = Finding("upload", "HIGH", "sends files or output to another machine")
NOT_UNDERSTOOD = Finding("not-understood", "UNKNOWN", "runs something that shows only when it runs")


def worst(risks: list[SecurityRisk]) -> SecurityRisk:
    """Returns the highest of the risks. UNKNOWN counts as higher than MEDIUM. Returns LOW if the list is
    empty.
    """
    return max(risks, key=_ORDER.__getitem__, default="LOW")


def at_least(risk: SecurityRisk, threshold: SecurityRisk) -> bool:
    return _ORDER[risk] >= _ORDER[threshold]


FLOOR = frozenset(
    (
        "delete-tree",
        "delete-in-container",
        "delete-volumes",
        "find-delete",
        "drop-outside",
        "device",
        "disk",
        "fork-bomb",
        "kill-all",
        "metadata",
        "upload",
        "connection",
        "listen",
        "remote-shell",
        "fetch-to-exec",
        "runs-later",
        "git-programs",
        "force-push",
        "rewrite-history",
        "publish",
        "forge",
        "infrastructure",
        "container",
    )
)
"""The names of rules that apply under every confirmation policy. If one of these rules finds a high risk, the
user must confirm the action, because the action has effects outside the sandbox or effects that cannot be
undone.
"""


def is_on_floor(finding: Finding) -> bool:
    return finding.risk == "HIGH" and finding.rule in FLOOR

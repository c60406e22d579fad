"""The security analyzers that rate the risk of the agent's actions. The runtime also has fixed security rules
for commands and files. These rules apply with every analyzer.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from agent_runtime.events.action import ActionEvent, SecurityRisk
from agent_runtime.events.base import JsonObject
from agent_runtime.security.finding import Finding, Judgement, worst
from agent_runtime.security.kinds import read_kind

RULES_ALONE = "CommandRules"
"""The analyzer name that an event contains if only the runtime's fixed security rules were applied, because
no analyzer is chosen.
"""

MAX_PATTERNS = 200
MAX_SCANNED_CHARS = 20_000

Pattern = Annotated[list[str], Field(min_length=3, max_length=3)]
"""A list of three texts: a regular expression, the reason that is shown to people, and a name."""
Patterns = Annotated[list[Pattern], Field(max_length=MAX_PATTERNS)]


class _Analyzer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class LLMSecurityAnalyzer(_Analyzer):
    """An analyzer that uses the rating of the agent's model: the model states a `security_risk` with each
    tool call.
    """

    kind: Literal["LLMSecurityAnalyzer"] = "LLMSecurityAnalyzer"

    def look(self, action: ActionEvent, judgement: Judgement) -> Iterator[Finding]:
        del judgement
        said = action.security_risk
        words = (
            "has not been judged by the model"
            if said == "UNKNOWN"
            else f"the model rated this {said.lower()} risk"
        )
        yield Finding("model", said, words)


class PatternSecurityAnalyzer(_Analyzer):
    """An analyzer that searches tool calls for regular expressions. All patterns are applied to the call's
    arguments. The patterns for prompt injection are also applied to the model's thought and summary of the
    call. At most MAX_SCANNED_CHARS characters are searched.
    """

    high_patterns: Patterns = []
    medium_patterns: Patterns = []
    injection_high_patterns: Patterns = []
    injection_medium_patterns: Patterns = []
    kind: Literal["PatternSecurityAnalyzer"] = "PatternSecurityAnalyzer"

    @field_validator(
        "high_patterns", "medium_patterns", "injection_high_patterns", "injection_medium_patterns"
    )
    @classmethod
    def _compile(cls, patterns: list[list[str]]) -> list[list[str]]:
        for expression, _, name in patterns:
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f"the pattern {name[:50]!r} is not a regular expression: {error}") from error
        return patterns

    def look(self, action: ActionEvent, judgement: Judgement) -> Iterator[Finding]:
        del judgement
        does = action.tool_call.arguments[:MAX_SCANNED_CHARS]
        says = " ".join([does, action.summary or "", *(part.text for part in action.thought)])
        yield from _matches(self.high_patterns, "HIGH", does)
        yield from _matches(self.medium_patterns, "MEDIUM", does)
        yield from _matches(self.injection_high_patterns, "HIGH", says[:MAX_SCANNED_CHARS])
        yield from _matches(self.injection_medium_patterns, "MEDIUM", says[:MAX_SCANNED_CHARS])


class PolicyRailSecurityAnalyzer(_Analyzer):
    """An analyzer that adds no findings to the findings of the runtime's fixed security rules for commands
    and files. A client chooses it if only these rules shall apply.
    """

    kind: Literal["PolicyRailSecurityAnalyzer"] = "PolicyRailSecurityAnalyzer"

    def look(self, action: ActionEvent, judgement: Judgement) -> Iterator[Finding]:
        del action
        yield from judgement.findings


class EnsembleSecurityAnalyzer(_Analyzer):
    """An analyzer that combines several analyzers: it returns all risks that they find. The highest of these
    risks is the risk of the action.

    `propagate_unknown`: whether a risk that one analyzer rates as unknown is always returned. If False,
    unknown risks are left out as soon as one of the analyzers reaches another result: a known risk, or no
    risk.
    """

    analyzers: list["AnyAnalyzer"] = Field(min_length=1, max_length=20)
    propagate_unknown: bool = False
    kind: Literal["EnsembleSecurityAnalyzer"] = "EnsembleSecurityAnalyzer"

    def look(self, action: ActionEvent, judgement: Judgement) -> Iterator[Finding]:
        opinions = [list(one.look(action, judgement)) for one in self.analyzers]
        risks: list[SecurityRisk] = [worst([one.risk for one in opinion]) for opinion in opinions]
        drops_unknown = not self.propagate_unknown and any(risk != "UNKNOWN" for risk in risks)
        for opinion in opinions:
            yield from (one for one in opinion if one.risk != "UNKNOWN" or not drops_unknown)


AnyAnalyzer = Annotated[
    LLMSecurityAnalyzer | PatternSecurityAnalyzer | PolicyRailSecurityAnalyzer | EnsembleSecurityAnalyzer,
    Field(discriminator="kind"),
]
EnsembleSecurityAnalyzer.model_rebuild()

_ANALYZER: TypeAdapter[AnyAnalyzer] = TypeAdapter(AnyAnalyzer)


def read_analyzer(value: JsonObject | None) -> AnyAnalyzer | None:
    """Returns the security analyzer that the JSON object `value` describes, or None if `value` is None.
    Raises UnsupportedKindError if its `kind` is not known or its fields are not valid.
    """
    return None if value is None else read_kind(_ANALYZER, value, "security analyzer")


def asks_model(analyzer: AnyAnalyzer | None) -> frozenset[Literal["security_risk", "summary"]]:
    """Returns the additional fields that this analyzer reads from each tool call. The runtime asks the model
    to fill in these fields. Returns an empty set if `analyzer` is None or reads no such fields.
    """
    match analyzer:
        case EnsembleSecurityAnalyzer():
            return frozenset().union(*map(asks_model, analyzer.analyzers))
        case LLMSecurityAnalyzer():
            return frozenset({"security_risk", "summary"})
        case PatternSecurityAnalyzer() if (
            analyzer.injection_high_patterns or analyzer.injection_medium_patterns
        ):
            return frozenset({"summary"})
        case _:
            return frozenset()


def _matches(patterns: list[list[str]], risk: SecurityRisk, text: str) -> Iterator[Finding]:
    for expression, reason, name in patterns:
        if re.search(expression, text):
            yield Finding(name, risk, reason)

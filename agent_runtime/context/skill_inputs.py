"""Inserts the values of a skill's inputs into the skill's text, when a user calls the skill by name, as in
`/release 1.4 channel=beta`.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class SkillInput(BaseModel):
    """The declaration of one input (parameter) of a skill. The value of the input replaces `${name}` in the
    skill's text. An input with a default is optional.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)
    description: str = Field(default="", max_length=1024)
    required: bool = True
    default: str | None = None


@dataclass(frozen=True)
class Filled:
    """The text of a skill after the values of its inputs were inserted. `missing`: required inputs for which
    the user gave no value; their placeholders remain in the text.
    """

    text: str
    missing: Sequence[SkillInput]


def fill(text: str, inputs: Sequence[SkillInput], words: str) -> Filled:
    """Returns the text of a skill in which the placeholders of the inputs are replaced by the values that the
    user gave. `words`: what the user wrote after the skill's name. Placeholders that are not declared as
    inputs stay unchanged.
    """
    given = _values_by_name(words, [one.name for one in inputs])
    values = {one.name: given.get(one.name, one.default) for one in inputs}
    missing = [one for one in inputs if values[one.name] is None and one.required]
    optional = {one.name: "" for one in inputs if not one.required}
    known = optional | {name: value for name, value in values.items() if value is not None}
    return Filled(_PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), text), missing)


def _values_by_name(words: str, names: Sequence[str]) -> dict[str, str]:
    """Parses what the user wrote after the skill's name, and returns the value of each input by its name.
    `name=value` sets the input with that name. Other words are assigned to the inputs in order. If there are
    more words than inputs, the extra words become part of the last input's value.
    """
    named: dict[str, str] = {}
    rest: list[str] = []
    for word in _split(words):
        name, equals, value = word.partition("=")
        if equals and name in names:
            named[name] = value
        else:
            rest.append(word)
    unnamed = [name for name in names if name not in named]
    if len(rest) > len(unnamed) > 0:
        rest = [*rest[: len(unnamed) - 1], " ".join(rest[len(unnamed) - 1 :])]
    return {**named, **dict(zip(unnamed, rest, strict=False))}


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:  # for example an unclosed quote in "don't"
        return words.split()

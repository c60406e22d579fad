"""Finds the shell commands that a call of `make` would run: the recipes of its makefile."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_runtime.security.rules import links
from agent_runtime.security.shell.texts import fed_text
from agent_runtime.security.shell.words import Word

if TYPE_CHECKING:
    from agent_runtime.security.shell.calls import Call

_DEFAULT_NAMES = ("GNUmakefile", "makefile", "Makefile")
_FILE = re.compile(r"(?:-[bBdeikLmnpqrRsStvw]*f|--(?:make)?file=?)(.*)", re.DOTALL)
_DIRECTORY = re.compile(r"(?:-[bBdeikLmnpqrRsStvw]*C|--directory=?)(.*)", re.DOTALL)
_TARGETS = re.compile(r"(?P<targets>[^\s:=#][^:=#]*)::?(?![:=])(?P<needs>[^;#]*)(;(?P<recipe>.*))?")
_VARIABLE = re.compile(r"\$(\$|\((?:[^()]|\([^()]*\))*\)|\{[^{}]*\}|.)")
_CONTINUED = re.compile(r"\\\n")


@dataclass(eq=False)
class _Rule:
    """One rule of a makefile, which may have several targets. `needs`: the targets that must be made first.
    `recipe`: the commands that make the rule's targets.
    """

    needs: list[str]
    recipe: list[str]


def recipe_of(call: "Call", written: Mapping[str, str | None]) -> str | None:
    """Returns the commands that a call of `make` runs, as a shell script. Returns None if the call is not
    `make` or its makefile cannot be read.

    `written`: the texts of the files that an earlier part of the same command line writes, by path; None for
    an unknown text.
    """
    if call.name not in {"make", "gmake"}:
        return None
    named, moved = makefiles_of(call), _values(call, _DIRECTORY)
    located_call = replace(call, directory=call.path(moved[0])) if moved else call
    for word in named or [Word(name) for name in _DEFAULT_NAMES]:
        text = fed_text(call.command) if word.text == "-" else _text_at(located_call.path(word), written)
        if text is not None:
            return recipes(text, _goals(call, {*named, *moved}))
    return None


def makefiles_of(call: "Call") -> list[Word]:
    """Returns the makefiles that the call of `make` names with `-f`. The list may be empty."""
    return _values(call, _FILE)


def _values(call: "Call", option: re.Pattern[str]) -> list[Word]:
    """Returns the values that a call of `make` gives to an option. `option`: a pattern that matches a whole
    word with the option. Its first group is the value in the same word, as in `-fFILE`. If this group is
    empty, the value is the next word.
    """
    found: list[Word] = []
    for at, word in enumerate(call.arguments):
        if match := option.fullmatch(word.text):
            found += [replace(word, text=match[1])] if match[1] else call.arguments[at + 1 : at + 2]
    return found


def _text_at(path: str | None, written: Mapping[str, str | None]) -> str | None:
    if path is None:
        return None
    return written[path] if path in written else links.on_disk(path)


def _goals(call: "Call", values: set[Word]) -> list[str]:
    words = [word for word in call.operands if word not in values and "=" not in word.text]
    return [word.text for word in words if not word.text.isdigit()]


def recipes(text: str, goals: Sequence[str]) -> str:
    """Returns the commands that `make` runs for certain targets and for the targets that these need, as a
    shell script. `text`: the text of the makefile. `goals`: the names of the targets; if empty, the first
    target of the makefile is used. If the makefile has no target with one of these names, a pattern rule may
    make it. In this case, returns the commands of all targets.

    The values of the makefile's variables are not known. So each variable in the commands is replaced by the
    same shell variable, which has no known value.
    """
    rules = _rules(text)
    wanted = deque(goals or [name for name in rules if not name.startswith(".")][:1])
    if any(goal not in rules for goal in wanted):
        wanted = deque(rules)
    found: dict[_Rule, None] = {}
    seen: set[str] = set()
    while wanted:
        name = wanted.popleft()
        if name in seen:
            continue
        seen.add(name)
        for rule in rules.get(name, ()):
            if rule not in found:
                found[rule] = None
                wanted += rule.needs
    return "\n".join(line for rule in found for line in rule.recipe)


def _rules(text: str) -> dict[str, list[_Rule]]:
    rules: dict[str, list[_Rule]] = {}
    current = _Rule([], [])
    for line in _CONTINUED.sub(" ", text).split("\n"):
        if line.startswith("\t"):
            current.recipe.append(_command(line))
        elif match := _TARGETS.match(line):
            recipe = [_command(match["recipe"])] if match["recipe"] else []
            current = _Rule(match["needs"].replace("|", " ").split(), recipe)
            for name in match["targets"].split():
                rules.setdefault(name, []).append(current)
    return rules


def _command(line: str) -> str:
    return _VARIABLE.sub(_for_shells, line.strip().lstrip("@-+ "))


def _for_shells(variable: re.Match[str]) -> str:
    return "$" if variable[1] == "$" else "${variable_of_make}"

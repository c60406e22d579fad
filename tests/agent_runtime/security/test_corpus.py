"""Tests with the tables of hostile and harmless commands: each command unchanged, and wrapped in other
commands.
"""

import os
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_runtime.security.commands import judge_command
from agent_runtime.security.finding import worst
from agent_runtime.security.policy import ConfirmRisky

WORKSPACE = "/srv/project"
TABLES = Path(__file__).parents[2] / "fixtures" / "commands"

HOSTILE = [
    (command, *verdict.split())
    for verdicts in tomllib.loads((TABLES / "hostile.toml").read_text()).values()
    for verdict, commands in verdicts.items()
    for command in commands
]
HARMLESS = [
    command
    for commands in tomllib.loads((TABLES / "harmless.toml").read_text()).values()
    for command in commands
]


def findings(command: str) -> dict[str, str]:
    return {one.rule: one.risk for one in judge_command(command, WORKSPACE).findings}


def is_asked_about(command: str) -> bool:
    found = judge_command(command, WORKSPACE).findings
    return any(ConfirmRisky().asks(one.risk) for one in found)


def test_the_tables_are_large():
    assert len(HOSTILE) >= 750
    assert len(HARMLESS) >= 450
    assert len({command for command, *_ in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize(("command", "risk", "rule"), HOSTILE)
def test_a_hostile_command_is_told_by_what_it_does(command: str, risk: str, rule: str):
    found = judge_command(command, WORKSPACE).findings
    assert rule in {one.rule for one in found}
    assert worst([one.risk for one in found]) == risk


@pytest.mark.parametrize("command", HARMLESS)
def test_a_harmless_command_is_not_asked_about(command: str):
    assert not is_asked_about(command), findings(command)


Change = Callable[[str], str]

CHANGES: dict[str, Change] = {
    "blanks": lambda text: f"  \t{text}\n",
    "comment": lambda text: f"# do not worry\n{text}\n# fine",
    "after another": lambda text: f"true; {text}",
    "if another succeeds": lambda text: f"cd . && {text}",
    "if another fails": lambda text: f"false || {text}",
    "before another": lambda text: f"{text}\necho done",
    "subshell": lambda text: f"(\n{text}\n)",
    "group": lambda text: f"{{\n{text}\n}}",
    "branch": lambda text: f"if true; then\n{text}\nfi",
    "loop": lambda text: f"for i in 1; do\n{text}\ndone",
    "function": lambda text: f"go() {{\n{text}\n}}\ngo",
    "shell": lambda text: f"bash -c {shlex.quote(text)}",
    "login shell": lambda text: f"/bin/sh -lc {shlex.quote(text)}",
    "variable for a shell": lambda text: f'c={shlex.quote(text)}; bash -c "$c"',
    "eval": lambda text: f"eval {shlex.quote(text)}",
    "wrappers": lambda text: f"env A=1 timeout -k 5 60 nice -n 5 setsid bash -c {shlex.quote(text)}",
    "split string": lambda text: f"stdbuf -oL sh -c {shlex.quote(text)}",
    "here-document": lambda text: f"bash <<'END_{len(text)}'\n{text}\nEND_{len(text)}",
    "here-string": lambda text: f"bash <<< {shlex.quote(text)}",
    "substitution": lambda text: f'echo "$(\n{text}\n)"',
    "background": lambda text: f"{{\n{text}\n}} &",
    "trap": lambda text: f"trap {shlex.quote(f' {text}')} EXIT",
    "sudo-less xargs": lambda text: f"xargs -r bash -c {shlex.quote(text)} < /dev/null",
}
changes = st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=3)
# Each ordinary run uses the same examples. HYPOTHESIS_PROFILE=thorough searches for new ones.
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
PROFILE = settings(
    max_examples=10_000 if IS_THOROUGH else 200,
    derandomize=not IS_THOROUGH,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
pytestmark = pytest.mark.timeout(3600)


def changed(command: str, names: list[str]) -> str:
    for name in names:
        command = CHANGES[name](command)
    return command


@PROFILE
@given(st.sampled_from([command for command, *_ in HOSTILE]), changes)
@example("rm -rf /", ["shell", "eval", "here-document"])
def test_a_hostile_command_stays_so_in_any_disguise(command: str, names: list[str]):
    assert is_asked_about(changed(command, names))


@PROFILE
@given(st.sampled_from(HARMLESS), changes)
@example("seq 1 10 | xargs -I{} echo {}", ["sudo-less xargs"])
def test_a_harmless_command_stays_so_in_any_dress(command: str, names: list[str]):
    text = changed(command, names)
    assert not is_asked_about(text), findings(text)


def split_by_quotes(word: str, cuts: list[int]) -> str:
    return "".join(letter + ("''" if at in cuts else "") for at, letter in enumerate(word))


@PROFILE
@given(
    st.sampled_from(["rm -rf /", "sudo ls", "git push --force", "cat /etc/shadow", "scp a me@x.example:b"]),
    st.sampled_from(["quotes", "backslashes", "variables", "ansi", "defaults"]),
    st.lists(st.integers(0, 12), max_size=4),
)
def test_letters_hidden_in_words_show(command: str, how: str, cuts: list[int]):
    first, _, rest = command.partition(" ")
    match how:
        case "quotes":
            text = " ".join(split_by_quotes(word, cuts) for word in command.split(" "))
        case "backslashes":
            text = " ".join("".join(f"\\{letter}" for letter in word) for word in command.split(" "))
        case "variables":
            text = f"a={first[:1]}; b={first[1:]}; $a${{b}} {rest}"
        case "ansi":
            text = " ".join(
                "$'" + "".join(f"\\x{ord(letter):02x}" for letter in word) + "'"
                for word in command.split(" ")
            )
        case _:
            text = f"${{unset_name:-{first}}} {rest}"
    assert is_asked_about(text)


@PROFILE
@given(st.text(alphabet="abrm-/ \\'\"$(){}<>|&;`#!*?[]=~\n\t0{},:@", max_size=80))
def test_no_text_breaks_the_judge(text: str):
    judge_command(text, WORKSPACE)

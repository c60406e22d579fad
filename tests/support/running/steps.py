"""Runs a step of `.ci/run`, unless its inputs have not changed since a run in which the step passed.

python -m tests.support.running.steps GREEN NAME COMMAND...    # runs the command, or says that it need not
python -m tests.support.running.steps GREEN NAME               # ends with 0 if it need not run, else with 1

GREEN is the directory in which passed steps are stored. tests/steps.toml names the inputs of each step.
"""

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tests.support.running.campaigns import key_of
from tests.support.running.durations import ROOT

STEPS_FILE = ROOT / "tests" / "steps.toml"


def run(green: Path, name: str, command: Sequence[str]) -> int:
    """Runs the command of a CI step and returns its exit code. If the step has passed before with the same
    inputs, does not run the command and returns 0. If the step must run but `command` is empty, returns 1.

    green: the directory in which passed steps are stored. Raises KeyError if tests/steps.toml lacks the step.
    """
    inputs: list[str] = tomllib.loads(STEPS_FILE.read_text())[name]["inputs"]
    passed = green / key_of(f"step-{name}", ["tests/steps.toml", *inputs])
    if passed.exists():
        sys.stdout.write(f"\n!!!! NOT RUN: {name}, green with the same inputs\n")
        return 0
    if not command:
        return 1
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code == 0:
        green.mkdir(parents=True, exist_ok=True)
        passed.touch()
    return code


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))

"""The configuration knows all variables SLIPWAY_… that the code names, so a start can refuse unknown
variables.
"""

import re
from pathlib import Path

from app_server.core.config import Config
from app_server.core.variables import unknown_variables

ROOT = Path(__file__).parents[2]
PLACES = ("app_server", "agent_runtime", "migrations", "scripts", "benchmarks", "tests")
NAME = re.compile(r"""["'$`{](SLIPWAY_[A-Z0-9_]*[A-Z0-9])\b""")


def test_no_name_in_the_code_would_stop_a_start() -> None:
    files = [ROOT / "Makefile", ROOT / ".ci" / "run"]
    files += [file for place in PLACES for file in (ROOT / place).rglob("*.py") if file != Path(__file__)]
    names = {name for file in files for name in NAME.findall(file.read_text())}
    assert len(names) > len(Config.model_fields) / 2
    no_variable = {"SLIPWAY_SUMS"}
    # Only docker-compose reads these variables.
    no_variable |= {"SLIPWAY_BIND", "SLIPWAY_GATEWAY", "SLIPWAY_SETTINGS_FILE", "SLIPWAY_SUBNET"}
    wrong_on_purpose = {"SLIPWAY_SANBOX", "SLIPWAY_CANARY_KEY"}
    assert unknown_variables(names - no_variable - wrong_on_purpose, Config.model_fields) == []


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    [sentence] = unknown_variables(["PATH", "SLIPWAY_SANDBOX_POOLSIZE", "SLIPWAY_HOME"], Config.model_fields)
    assert sentence.startswith("SLIPWAY_SANDBOX_POOLSIZE: ")
    assert "did you mean SLIPWAY_SANDBOX_POOLS?" in sentence

"""Sends all kinds of requests to an agent server and compares its answers with its OpenAPI document."""

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = os.environ.get("SLIPWAY_FUZZ_EXAMPLES")
FEW = "8"
ALL_PHASES = "examples,coverage,fuzzing"
LIMIT_SECONDS = int(EXAMPLES or FEW) * 10 + 600
_ROOT = Path(__file__).parents[2]
_SECONDS_PER_REQUEST = "120"
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# A model that does not answer and a program that the image lacks are no failures of the agent server. Their
# statuses must still be documented for the operations that answer with them.
_SETTINGS = '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "4xx", 502, 503, 504]\n'


def fuzz(
    url: str,
    headers: dict[str, str],
    conversation: str,
    workspace: str,
    scratch: Path,
    *,
    phases: str = ALL_PHASES,
    few: str = FEW,
) -> None:
    """Fails with the report of Schemathesis if an answer is not as documented, or an operation was not tried.

    `conversation`: the id of an existing conversation. `workspace`: a directory of the agent server that may
    be written to. `scratch`: an empty directory of the test. `phases`: the phases of Schemathesis. `few`: the
    number of requests per operation. SLIPWAY_FUZZ_EXAMPLES=500 tries 500 requests per operation in all
    phases, new ones each time.
    """
    (scratch / "schemathesis.toml").write_text(_SETTINGS)
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "run", f"{url}/openapi.json"),
        *(part for name, value in headers.items() for part in ("--header", f"{name}: {value}")),
        *("--request-timeout", _SECONDS_PER_REQUEST),
        *("--phases", ALL_PHASES if EXAMPLES else phases, "--max-examples", EXAMPLES or few),
        *("--checks", _CHECKS, "--continue-on-failure", "--warnings", "off", "--no-color"),
        *(() if EXAMPLES else ("--seed", "1")),
    ]
    tried_operations = scratch / "tried"
    environment = {
        **os.environ,
        "PYTHONPATH": str(_ROOT),
        "SCHEMATHESIS_HOOKS": "tests.support.harmless",
        "FUZZ_WORKSPACE": workspace,
        "FUZZ_CONVERSATION": conversation,
        "FUZZ_TRIED": str(tried_operations),
    }
    tried = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert _documented() - {*tried_operations.read_text().splitlines()} == set()


def _documented() -> set[str]:
    """Returns every operation of the agent server, as the committed OpenAPI document lists them."""
    paths = json.loads((_ROOT / "docs" / "openapi" / "agent_server.json").read_text())["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}

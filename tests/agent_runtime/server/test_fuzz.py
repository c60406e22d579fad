"""Whatever is sent to any operation: no failure, no hang, no status or shape that is not documented.

SLIPWAY_FUZZ_EXAMPLES=500 tries as many per operation, and other ones each time.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_server import KEY, AgentServer
from tests.support.scripted_llm import ScriptedLLM, say

EXAMPLES = os.environ.get("SLIPWAY_FUZZ_EXAMPLES")
FEW = "8"
SECONDS_PER_REQUEST = "120"
ROOT = Path(__file__).parents[3]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# A model that cannot be asked and a program that the image lacks are no failures of ours. They still have
# to be documented where they are answered.
SETTINGS = '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "4xx", 502, 503, 504]\n'


@pytest.mark.timeout(int(EXAMPLES or FEW) * 10 + 600)
def test_every_operation_answers_whatever_is_sent_as_it_documents(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.fallback = scripted_llm.aside = say("Hm.")
    own_server.start()
    conversation = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "run", f"{own_server.url}/openapi.json"),
        *("--header", f"X-Session-API-Key: {KEY}", "--request-timeout", SECONDS_PER_REQUEST),
        *("--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES or FEW),
        *("--checks", CHECKS, "--continue-on-failure", "--warnings", "off", "--no-color"),
        *(() if EXAMPLES else ("--seed", "1")),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.support.harmless",
        "FUZZ_WORKSPACE": str(own_server.path / "project"),
        "FUZZ_CONVERSATION": conversation["id"],
    }

    tried = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert own_server.call("GET", "/health") == {"status": "ok"}

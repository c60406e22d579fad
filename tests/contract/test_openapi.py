"""The committed OpenAPI documents are equal to those that the code generates."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module", "document"),
    [
        ("app_server.openapi", "app_server.json"),
        ("app_server.sandbox_host.openapi", "sandbox_host.json"),
        ("agent_runtime.server.openapi", "agent_server.json"),
        ("agent_runtime.server.event_schemas", "events.json"),
    ],
)
def test_the_committed_openapi_document_is_that_of_the_server(module: str, document: str) -> None:
    """If this test fails, run `make api` and commit the changed documents."""
    said = subprocess.check_output([sys.executable, "-m", module], text=True, cwd=ROOT)
    assert said == (ROOT / "docs" / "openapi" / document).read_text()

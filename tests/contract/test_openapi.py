"""One wire, generated: what is committed is what the server says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_committed_openapi_document_is_that_of_the_server() -> None:
    """If this fails: `make api`, and commit what it changes."""
    said = subprocess.check_output([sys.executable, "-m", "app_server.openapi"], text=True, cwd=ROOT)
    assert said == (ROOT / "docs/openapi/app_server.json").read_text()

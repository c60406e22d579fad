"""Tests that documents and lock files agree with the code, for example the README and the page of the
configuration.
"""

import re
from pathlib import Path

import pytest

from app_server.configuration_page import page
from app_server.core.config import Config

ROOT = Path(__file__).parents[2]
LOCKS = [*sorted(ROOT.glob("requirements*.lock")), ROOT / "tests" / "compat" / "requirements.lock"]


def test_the_page_of_the_configuration_is_that_of_the_code() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == page()


def test_the_readme_names_no_variable_that_does_not_exist() -> None:
    named = set(re.findall(r"`SLIPWAY_([A-Z_]+)`", (ROOT / "README.md").read_text()))
    assert named <= {field.upper() for field in Config.model_fields}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.relative_to(ROOT)))
def test_python_locks_carry_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert "--hash=sha256:" in text
    assert "://" not in text


def test_the_npm_lock_records_no_download_address() -> None:
    text = (ROOT / "frontend" / "package-lock.json").read_text()
    assert '"resolved"' not in text
    assert '"integrity"' in text


def test_each_test_that_the_threat_model_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "threat-model.md").read_text()))
    written = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20
    assert [name for name in sorted(named) if f"def {name}(" not in written] == []

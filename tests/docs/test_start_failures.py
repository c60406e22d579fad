"""Checks docs/start-failures.md: it has one row for each code with which a start can fail,
and no other rows.
"""

import re
from pathlib import Path
from typing import get_args

from app_server.core.errors import StartCode

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "start-failures.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def test_every_code_has_one_row_with_a_cause_and_a_fix() -> None:
    rows = ROW.findall(DOCUMENT.read_text())

    assert sorted(code for code, _, _ in rows) == sorted(get_args(StartCode))
    assert all(cause.strip() and fix.strip() for _, cause, fix in rows)

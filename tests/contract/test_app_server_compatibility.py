"""Checks docs/compatibility.md: for each operation of the reference's app server, it says what our app server
lacks.
"""

import json
import re
from functools import cache
from pathlib import Path

from app_server.core.config import Config
from app_server.main import create_inner_app
from tests.contract.wire_shape import PARTS, Shape, shapes_of, without_names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
REFERENCE: dict[str, dict[str, list[str]]] = json.loads(
    (ROOT / "tests" / "fixtures" / "app_server_reference.json").read_text()
)
ROW = re.compile(r"^\| ([A-Z]+) \| `([^`]+)` \| ([\w ]+) \| ([^|]*) \| (.*)\|$", re.MULTILINE)
COUNT = re.compile(r"Of its (\d+) operations (\d+) are the same, (\d+) differ and (\d+) are absent")


@cache
def rows() -> dict[str, tuple[str, list[str], str]]:
    """Returns the table rows of the document by operation: the mark, patterns for the missing names, and the
    reason.
    """
    found = ROW.findall(PAGE)
    by_operation = {
        f"{method} {path}": (mark, re.findall(r"`([^`]+)`", lacking), reason.strip())
        for method, path, mark, lacking, reason in found
    }
    assert len(by_operation) == len(found), "an operation stands there twice"
    return by_operation


@cache
def ours() -> dict[str, Shape]:
    committed = json.loads((ROOT / "docs" / "openapi" / "app_server.json").read_text())
    inner = create_inner_app(Config()).openapi()
    shapes = {**shapes_of(inner), **shapes_of(committed)}
    return {without_names(operation): shape for operation, shape in shapes.items()}


def lacking(operation: str) -> set[str]:
    """Returns the names, as `part.name`, that the reference has in this operation and our app server does not
    have.
    """
    here = ours()[without_names(operation)]
    return {
        f"{part}.{name}" for part in PARTS for name in set(REFERENCE[operation].get(part, [])) - here[part]
    }


def covers(pattern: str, name: str) -> bool:
    return name == pattern or (pattern.endswith(".*") and name.startswith(pattern.removesuffix("*")))


def test_every_operation_is_listed() -> None:
    assert set(rows()) == set(REFERENCE)


def test_an_operation_is_absent_exactly_if_it_says_so() -> None:
    absent = {operation for operation in REFERENCE if without_names(operation) not in ours()}

    assert {operation for operation, (mark, _, _) in rows().items() if mark == "absent"} == absent


def test_what_each_operation_lacks_is_what_is_listed() -> None:
    for operation, (mark, patterns, _) in rows().items():
        if mark == "absent":
            continue
        names = lacking(operation)
        unlisted = {name for name in names if not any(covers(pattern, name) for pattern in patterns)}
        outdated = {pattern for pattern in patterns if not any(covers(pattern, name) for name in names)}
        assert not unlisted, (operation, sorted(unlisted))
        assert not outdated, (operation, sorted(outdated))


def test_every_difference_has_its_reason() -> None:
    for operation, (mark, patterns, reason) in rows().items():
        assert mark in {"same", "different", "absent"}, operation
        assert (mark == "same") <= (not patterns), operation
        assert mark == "same" or reason, operation


def test_the_count_is_true() -> None:
    stated = COUNT.search(PAGE)
    assert stated is not None
    marks = [mark for mark, _, _ in rows().values()]
    counted = (len(marks), *(marks.count(mark) for mark in ("same", "different", "absent")))
    assert tuple(int(number) for number in stated.groups()) == counted

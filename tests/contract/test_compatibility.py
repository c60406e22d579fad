"""Checks docs/compatibility.md: it lists all routes and variables of the reference's agent server with
correct marks.
"""

import importlib
import json
import pkgutil
import re
from pathlib import Path

from fastapi.routing import APIWebSocketRoute

from agent_runtime.server import routers
from agent_runtime.server.config import Config
from agent_runtime.server.main import create_app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
REFERENCE = json.loads((ROOT / "tests" / "fixtures" / "agent_server_reference.json").read_text())
HERE = ("same", "different")
REASONED = ("different", "absent", "added")

ROUTE_ROW = re.compile(r"^\| ([A-Z]+) `([^`]+)` \| (\w+) \| (.*)\|$", re.MULTILINE)
VARIABLE_ROW = re.compile(r"^\| `(OH_\w+)` \| (\w+) \| (.*)\|$", re.MULTILINE)


def documented_routes() -> dict[str, tuple[str, str]]:
    """Returns the mark and the reason of each route in the document, by route."""
    rows = ROUTE_ROW.findall(PAGE)
    routes = {f"{method} {path}": (mark, reason) for method, path, mark, reason in rows}
    assert len(routes) == len(rows), "a route stands there twice"
    return routes


def our_routes() -> set[str]:
    described = create_app(Config()).openapi()["paths"]
    http = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}
    modules = [
        importlib.import_module(name)
        for _, name, _ in pkgutil.walk_packages(routers.__path__, f"{routers.__name__}.")
    ]
    routes = [route for module in modules if hasattr(module, "router") for route in module.router.routes]
    return http | {f"WS {route.path}" for route in routes if isinstance(route, APIWebSocketRoute)}


def test_every_route_of_the_reference_is_marked_as_it_is_here():
    ours = our_routes()
    marks = {route: mark for route, (mark, _) in documented_routes().items() if mark != "added"}

    assert set(marks) == set(REFERENCE["routes"])
    assert {route for route, mark in marks.items() if mark in HERE} == ours & set(REFERENCE["routes"])
    assert {route for route, mark in marks.items() if mark == "absent"} == set(REFERENCE["routes"]) - ours


def test_every_route_of_our_own_is_named():
    added = {route for route, (mark, _) in documented_routes().items() if mark == "added"}

    assert added == our_routes() - set(REFERENCE["routes"])


def test_every_variable_of_the_reference_is_marked_as_it_is_here():
    settings = {f"OH_{(field.alias or name).upper()}" for name, field in Config.model_fields.items()}
    marks = {name: mark for name, mark, _ in VARIABLE_ROW.findall(PAGE)}

    assert {name for name, mark in marks.items() if mark != "added"} == set(REFERENCE["variables"])
    assert {name for name, mark in marks.items() if mark in {*HERE, "added"}} == settings


def test_what_is_not_the_same_has_its_reason():
    rows = [(name, mark, reason) for name, (mark, reason) in documented_routes().items()]

    for name, mark, reason in [*rows, *VARIABLE_ROW.findall(PAGE)]:
        assert mark in {"same", *REASONED}, name
        assert mark == "same" or reason.strip(), name

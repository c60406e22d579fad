"""Compares the resource use and the speed of Slipway's agent server with the OpenHands agent server (the
peer), whose protocol it implements: `python -m benchmarks`.

Both servers are used only over HTTP and WebSockets, with the same work and the same scripted model. The CPU
time is the reliable figure. The wall time also depends on other programs on the machine. Therefore the load
of the machine is recorded with the results.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from benchmarks import figures, peer, process, report
from benchmarks.kit import Kit
from benchmarks.measures import crowd, delivery, memory, output, restart, start, steps
from benchmarks.script import ScriptedModel
from benchmarks.server import Product

MEASURES: Mapping[str, Callable[[Kit], Iterator[figures.Figure]]] = {
    "start": start.measure,
    "memory": memory.measure,
    "steps": steps.measure,
    "delivery": delivery.measure,
    "restart": restart.measure,
    "crowd": crowd.measure,
    "output": output.measure,
}
HERE = Path(__file__).parent
RESULTS = HERE / "results"


def main() -> None:
    arguments = _arguments()
    process.adopt_orphans()
    circumstances: dict[str, Any] = {
        "began": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "machine": platform.platform(),
        "processors": os.cpu_count(),
        "is_quick": arguments.quick,
        "load": {},
    }
    measured: dict[str, list[figures.Figure]] = {}
    for product in _products(arguments):
        measured[product.name] = _measure(product, arguments, circumstances["load"])
    print()
    print(report.table(measured))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / time.strftime("%Y%m%d-%H%M%S.json")
    file.write_bytes(orjson.dumps(report.as_json(measured, circumstances), option=orjson.OPT_INDENT_2))
    print(f"\n{file.relative_to(HERE.parent)}")


def _products(arguments: argparse.Namespace) -> list[Product]:
    ours = Product("ours", Path(sys.executable), "agent_runtime.server")
    if arguments.ours_only:
        return [ours]
    try:
        python = arguments.peer or peer.installed(HERE / "peer-environment")
    except peer.NoPeerError as error:
        print(f"Measured alone: {error}")
        return [ours]
    return [ours, Product("peer", python, "openhands.agent_server")]


def _measure(product: Product, arguments: argparse.Namespace, load: dict[str, Any]) -> list[figures.Figure]:
    found: list[figures.Figure] = []
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as home, ScriptedModel() as model:
        kit = Kit(product, Path(home), model, is_peer=product.name == "peer", is_quick=arguments.quick)
        for name in arguments.only or MEASURES:
            before = os.getloadavg()[0]
            for figure in MEASURES[name](kit):
                print(f"{product.name:<6}{figure.name:<46}{figure.median:10.3f} {figure.unit}", flush=True)
                found.append(figure)
            load[f"{product.name} {name}"] = [before, os.getloadavg()[0]]
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="one short run of each, for a first look")
    parser.add_argument("--only", action="append", choices=[*MEASURES], help="may be repeated")
    parser.add_argument("--ours-only", action="store_true", help="without the peer")
    parser.add_argument("--peer", type=Path, help="the interpreter of an environment that has the peer")
    return parser.parse_args()


if __name__ == "__main__":
    main()

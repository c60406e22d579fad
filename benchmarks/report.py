"""Formats the results of the benchmarks as a table for people and as JSON for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures import GOALS, Figure

Figures = Mapping[str, Sequence[Figure]]
"""The results of each product, by the name of the product. Slipway is the first product."""


def table(figures: Figures) -> str:
    """Returns a table with one line for each measurement: the result of Slipway, the result of the peer (the
    OpenHands agent server), Slipway's result divided by the peer's, and the goal.
    """
    ours, *others = figures.values()
    theirs = {figure.name: figure for figure in others[0]} if others else {}
    head = f"{'measure':<46}{'ours':>10}{'':>20}{'peer':>10}{'':>20}{'ratio':>8}  goal"
    return "\n".join([head, *(_line(figure, theirs.get(figure.name)) for figure in ours)])


def as_json(figures: Figures, circumstances: Mapping[str, Any]) -> dict[str, Any]:
    products = {
        product: [
            {"name": f.name, "unit": f.unit, "median": f.median, "runs": list(f.runs)} for f in measured
        ]
        for product, measured in figures.items()
    }
    return {"circumstances": dict(circumstances), "products": products}


def _line(ours: Figure, peer: Figure | None) -> str:
    name = f"{ours.name}, {ours.unit}" if ours.unit else ours.name
    return f"{name:<46}{_cell(ours)}{_cell(peer)}{_ratio(ours, peer):>8}  {_verdict(ours)}"


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return f"{'':>30}"
    spread = f" [{_short(min(figure.runs))}-{_short(max(figure.runs))}] x{len(figure.runs)}"
    return f"{_short(figure.median):>10}{spread:<20}"


def _ratio(ours: Figure, peer: Figure | None) -> str:
    """Returns Slipway's median divided by the peer's median, as text. Returns an empty text if the peer was
    not measured or its median is 0.
    """
    if peer is None or peer.median == 0:
        return ""
    return f"{ours.median / peer.median:.3f}"


def _verdict(figure: Figure) -> str:
    goal = GOALS.get(figure.name)
    if goal is None:
        return ""
    word = "met" if goal.is_met(figure.median) else "MISSED"
    return f"{word}: {goal.sense} {goal.limit:g}"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"

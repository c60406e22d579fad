"""Looks up the facts about a model in the model catalogue. The catalogue's files are read at the first
lookup.

The file `models.json` is generated; the file `families.json` is written by hand.
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.catalogue.facts import DEFAULT_WINDOW, Facts
from agent_runtime.metering.prices import Price

_HERE = Path(__file__).parent
_MILLION = 1_000_000
# A family's name may begin after one of these.
_SEPARATORS = "/.:@"


def facts_of(*names: str | None) -> Facts:
    """Returns the facts about the first of these model names that is in the catalogue. If no name is in the
    catalogue, returns the facts about the first name that belongs to a known model family. If no name belongs
    to a known family, returns the default facts.

    For each name, shorter forms are looked up too: `litellm_proxy/anthropic/claude-x` is looked up in this
    form, then as `anthropic/claude-x`, then as `claude-x`.
    """
    given = [name for name in names if name]
    found = [_facts(name) for name in given]
    is_listed = (facts for facts in found if facts.is_listed)
    is_of_family = (facts for facts in found if facts.maker)
    return next(is_listed, None) or next(is_of_family, None) or Facts()


@lru_cache(maxsize=1024)
def _facts(name: str) -> Facts:
    listed = next((_models()[form] for form in _forms(name) if form in _models()), None)
    family = _family(name)
    merged = {**family, **(listed or {})}
    if listed is not None:
        # For a listed model, a missing entry means that the model does not support it.
        merged |= {key: listed.get(key, []) for key in ("inputs", "efforts", "refused")}
        merged["budget"] = listed.get("budget", False)
        # The list is often behind here, so the family decides.
        merged["calls_tools"] = family.get("calls_tools", listed.get("calls_tools", True))
    efforts = merged.get("efforts")
    return Facts(
        is_listed=listed is not None,
        maker=merged.get("maker"),
        window=merged.get("window") or DEFAULT_WINDOW,
        max_output=merged.get("output"),
        price=_price(merged.get("price")),
        inputs=frozenset(merged.get("inputs") or ()),
        protocols=tuple(merged.get("protocols") or ("chat",)),
        efforts=None if efforts is None else tuple(efforts),
        takes_budget=bool(merged.get("budget")),
        refused=frozenset(merged.get("refused") or ()),
        echo=merged.get("echo"),
        marks_cache=bool(merged.get("marks_cache")),
        writes_patches=bool(merged.get("writes_patches")),
        caches=_caches(merged),
        calls_tools=merged.get("calls_tools", True),
    )


def _caches(merged: Mapping[str, Any]) -> bool | None:
    """Returns whether the vendor of a model caches prompts. `merged`: the model's entry in the catalogue.
    Returns True if the entry has a price for cached input tokens, or if its field `marks_cache` is true.
    Otherwise returns None if the entry has no price at all, and False if it has only other prices.
    """
    if merged.get("marks_cache"):
        return True
    price = merged.get("price")
    return None if price is None else price[2] is not None


def _price(per_million: list[float | None] | None) -> Price | None:
    if per_million is None:
        return None
    per_token = [each if each is None else each / _MILLION for each in per_million]
    prompt, completion, read, write, *for_an_hour = per_token
    assert prompt is not None
    assert completion is not None
    return Price(
        prompt,
        completion,
        cache_read=prompt if read is None else read,
        cache_write=prompt if write is None else write,
        cache_write_hour=for_an_hour[0] if for_an_hour else None,
    )


def _plain(name: str) -> str:
    """Returns the model's name in lower case with dashes in place of dots. Vendors write versions in both
    ways, so names are compared in this form.
    """
    return name.lower().replace(".", "-")


def _forms(name: str) -> Iterator[str]:
    parts = _plain(name).split("/")
    return ("/".join(parts[start:]) for start in range(len(parts)))


def _family(name: str) -> Mapping[str, Any]:
    """Returns the facts of the model family to which the model `name` belongs. A model belongs to a family if
    its name, or the rest of its name after one of the characters `/`, `.`, `:` and `@`, begins with the
    family's name. Of several such families, the one with the longest name is used. Returns an empty mapping
    if there is none.
    """
    starts = [0, *(index + 1 for index, each in enumerate(name) if each in _SEPARATORS)]
    parts = [_plain(name[start:]) for start in starts]
    known = [family for family in _families() if any(part.startswith(family) for part in parts)]
    return _families()[max(known, key=len)] if known else {}


@cache
def _models() -> Mapping[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = orjson.loads((_HERE / "models.json").read_bytes())
    return {_plain(name): entry for name, entry in read.items()}


@cache
def _families() -> Mapping[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = orjson.loads((_HERE / "families.json").read_bytes())
    return read

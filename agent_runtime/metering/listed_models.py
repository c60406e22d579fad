"""Lists the models of each vendor, so that users can choose one. The data comes from the Python package
litellm.
"""

import importlib.util
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from agent_runtime.metering.lenient_numbers import a_dict

_LIST = "model_prices_and_context_window_backup.json"
_CHATS = ("chat", "responses")


@dataclass(frozen=True, order=True)
class ListedModel:
    vendor: str
    name: str
    calls_tools: bool
    has_price: bool


def listed_models(vendors: Collection[str]) -> list[ListedModel]:
    """Returns the chat models of these vendors, sorted by vendor and name. The function blocks, because it
    reads a file of 3 MB.
    """
    found: dict[tuple[str, str], ListedModel] = {}
    for key, value in _read_list().items():
        entry = a_dict(value)
        vendor = _vendor(str(entry.get("litellm_provider")), vendors)
        if vendor is None or entry.get("mode") not in _CHATS:
            continue
        name = key.removeprefix(f"{vendor}/")
        found[vendor, name] = ListedModel(
            vendor,
            name,
            calls_tools=entry.get("supports_function_calling") is True,
            has_price=entry.get("input_cost_per_token") is not None,
        )
    return sorted(found.values())


def _read_list() -> Mapping[str, object]:
    """Returns the facts about each model from litellm's data file, by the model's name. Returns an empty
    mapping if litellm is not installed.
    """
    # The package is found but not imported: that would take seconds.
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    file = Path(package.origin).with_name(_LIST)
    return a_dict(orjson.loads(file.read_bytes())) if file.is_file() else {}


def _vendor(listed: str, vendors: Collection[str]) -> str | None:
    """Returns Slipway's name for a vendor, or None if the vendor is not wanted. `listed`: the vendor's name
    in litellm's data. `vendors`: Slipway's names of the wanted vendors.

    Most names are the same in both. But litellm divides two vendors into several, such as `bedrock_converse`.
    """
    if listed in vendors:
        return listed
    divided = (vendor for vendor in ("bedrock", "vertex_ai") if listed.startswith(vendor))
    return next((vendor for vendor in divided if vendor in vendors), None)

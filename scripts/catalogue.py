"""Writes agent_runtime/catalogue/models.json from the list of models that the package litellm contains.

Run this script after an update of litellm (`make catalogue`), and check the changes before you commit them.
The script keeps only the data that the product uses. Data that litellm's list does not contain, such as which
parts of a reply a model needs back in the next call, are in families.json, which is written by hand.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.vendors import OPENAI_COMPATIBLE, OTHER_PROTOCOLS

TARGET = Path(__file__).parent.parent / "agent_runtime" / "catalogue" / "models.json"

MODES = {"chat", "responses"}
# litellm names some vendors by what they serve.
VENDORS = OPENAI_COMPATIBLE.keys() | OTHER_PROTOCOLS
# The same models again, for one region or one kind of hosting each.
LEFT_OUT = ("azure/us/", "azure/eu/", "azure/global", "bedrock/", "vertex_ai/search", "ft:")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
USUAL_EFFORTS = {"low", "medium", "high"}
MILLION = 1_000_000
PRICES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "cache_creation_input_token_cost_above_1hr",
)
INPUTS = {"image": "supports_vision", "pdf": "supports_pdf_input", "audio": "supports_audio_input"}


def main() -> None:
    # Without it the package fetches a newer list over the network while it is imported.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.suppress_debug_info = True
    lines = [
        orjson.dumps(name) + b": " + orjson.dumps(_entry(litellm, name, listed))
        for name, listed in sorted(litellm.model_cost.items())
        if _is_used(name, listed)
    ]
    TARGET.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


def _is_used(name: str, listed: Mapping[str, Any]) -> bool:
    if listed.get("mode") not in MODES or name.startswith(LEFT_OUT):
        return False
    vendor = listed["litellm_provider"].partition("-")[0]
    return vendor.removesuffix("_converse") in VENDORS and _is_priced_or_sized(listed)


def _is_priced_or_sized(listed: Mapping[str, Any]) -> bool:
    return isinstance(listed.get("max_input_tokens"), int) or "input_cost_per_token" in listed


def _entry(litellm: Any, name: str, listed: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _parameters(litellm, name, listed)
    found = {
        "window": listed.get("max_input_tokens"),
        "output": listed.get("max_output_tokens"),
        "price": _price(listed),
        "inputs": [each for each, flag in INPUTS.items() if listed.get(flag)],
        "protocols": _protocols(name, listed),
        "efforts": _efforts(listed, parameters),
        "budget": _takes_budget(name, listed, parameters),
        "refused": list(_refused(listed, parameters)),
    }
    kept = {key: value for key, value in found.items() if value}
    # Only a stated lack counts: many models with tool calls have no statement.
    return kept | ({"calls_tools": False} if listed.get("supports_function_calling") is False else {})


def _parameters(litellm: Any, name: str, listed: Mapping[str, Any]) -> set[str]:
    vendor = listed["litellm_provider"].partition("-")[0]
    return set(litellm.get_supported_openai_params(name.removeprefix(f"{vendor}/"), vendor) or ())


def _price(listed: Mapping[str, Any]) -> list[float | None] | None:
    """Returns the prices of a model in dollars per million tokens: input, output, input read from the cache,
    input written to the cache, and input written to the cache for an hour. The last price is left out if
    litellm does not list it; other unknown prices are None. Returns None if the price of input or output is
    unknown. `listed`: the model's entry in litellm's list.
    """
    per_token = [listed.get(name) for name in PRICES]
    if not all(isinstance(each, int | float) for each in per_token[:2]):
        return None
    *usual, for_an_hour = [
        round(each * MILLION, 6) if isinstance(each, int | float) else None for each in per_token
    ]
    return usual if for_an_hour is None else [*usual, for_an_hour]


def _protocols(name: str, listed: Mapping[str, Any]) -> list[str]:
    """Returns the API protocols with which the vendor serves the model, the preferred protocol first. `name`,
    `listed`: the model's name and entry in litellm's list.
    """
    vendor = listed["litellm_provider"].partition("-")[0]
    if vendor in {"anthropic", "gemini"}:
        return [vendor]
    if vendor in {"openai", "azure"}:
        return list(_protocols_of_openai(name, listed))
    if vendor in OTHER_PROTOCOLS or vendor.startswith("bedrock"):
        return ["anthropic" if "claude" in name else "gemini" if "gemini" in name else "other"]
    return ["chat"]


def _protocols_of_openai(name: str, listed: Mapping[str, Any]) -> Iterator[str]:
    endpoints = listed.get("supported_endpoints") or ()
    if listed["mode"] == "responses":
        yield "responses"
    elif listed.get("supports_reasoning") and "/v1/responses" in endpoints and "gpt" in name:
        # Reasoning can be kept between calls there only.
        yield from ("responses", "chat")
    else:
        yield "chat"


def _efforts(listed: Mapping[str, Any], parameters: set[str]) -> list[str]:
    if not listed.get("supports_reasoning") or "reasoning_effort" not in parameters:
        return []
    stated = listed.get("reasoning_effort_levels")
    taken = set(stated) if isinstance(stated, list) else {*USUAL_EFFORTS, *_further_efforts(listed)}
    return [effort for effort in EFFORTS if effort in taken]


def _further_efforts(listed: Mapping[str, Any]) -> Iterator[str]:
    for effort in EFFORTS:
        if listed.get(f"supports_{effort}_reasoning_effort"):
            yield effort


def _takes_budget(name: str, listed: Mapping[str, Any], parameters: set[str]) -> bool:
    """Returns whether a call of the model may set the number of tokens for thinking (a thinking budget),
    instead of a reasoning effort. `name`, `listed`: the model's name and entry in litellm's list.
    `parameters`: the names of the API parameters that the model accepts, according to litellm.
    """
    if not listed.get("supports_reasoning") or "thinking" not in parameters:
        return False
    is_adaptive = listed.get("supports_adaptive_thinking") and not listed.get("supports_legacy_thinking")
    return ("claude" in name and not is_adaptive) or "gemini" in name


def _refused(listed: Mapping[str, Any], parameters: set[str]) -> Iterator[str]:
    vendor = listed["litellm_provider"]
    thinks_always = vendor in {"openai", "azure"} and not listed.get("supports_none_reasoning_effort")
    is_fixed = listed.get("supports_sampling_params") is False or (
        bool(listed.get("supports_reasoning")) and thinks_always
    )
    for name in ("temperature", "top_p"):
        if is_fixed or name not in parameters:
            yield name
    if "stop" not in parameters:
        yield "stop"


if __name__ == "__main__":
    main()

"""Checks whether a model supports the options that its profile sets. The functions here do no I/O.

The function `check` raises BadRequest `llm_option_refused` for an option that the model does not support. It
raises BadRequest `vertex_key_invalid` if the API key of a model at Vertex AI is not the key of a Google
service account. If the model catalogue does not say whether the model supports an option, the option is
accepted.
"""

from collections.abc import Iterator

from agent_runtime.catalogue.facts import Facts
from agent_runtime.catalogue.lookup import facts_of
from agent_runtime.vendors import OTHER_PROTOCOLS
from app_server.core.errors import BadRequest
from app_server.settings.schemas import LLMSettings
from app_server.settings.service_account import VERTEX_PREFIX, read_key

RESERVED = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "base_url",
        "messages",
        "model",
        "n",
        "stream",
        "stream_options",
        "tools",
    }
)
"""The fields of a model call that a profile's `extra_body` must not contain. Slipway itself sets some of
these fields. The other fields could send the call to another model or address.
"""


def check(llm: LLMSettings) -> None:
    if llm.model.startswith(VERTEX_PREFIX) and llm.api_key and llm.api_key.get_secret_value():
        read_key(llm.api_key.get_secret_value())
    wrong = next(_mistakes(llm, facts_of(llm.model)), None)
    if wrong is not None:
        detail, fix = wrong
        raise BadRequest(detail, code="llm_option_refused", fix=fix)


def _mistakes(llm: LLMSettings, facts: Facts) -> Iterator[tuple[str, str]]:
    yield from _of_thinking(llm, facts)
    yield from _of_sampling(llm, facts)
    yield from _of_sizes(llm, facts)
    yield from _of_extras(llm)
    cache_is_priced = (llm.cache_read_cost_per_token, llm.cache_write_cost_per_token) != (None, None)
    is_priced = facts.price is not None or llm.input_cost_per_token is not None
    if cache_is_priced and not is_priced:
        yield (
            f"The price of cached input is set, but the price of input to {llm.model} is not known.",
            "Set the prices of input and output, too.",
        )


def _of_thinking(llm: LLMSettings, facts: Facts) -> Iterator[tuple[str, str]]:
    effort, budget = llm.reasoning_effort, llm.thinking_budget
    if effort is not None and facts.efforts == ():
        yield f"{llm.model} takes no reasoning effort.", "Leave the reasoning effort empty."
    elif effort is not None and facts.efforts is not None and effort not in facts.efforts:
        taken = ", ".join(facts.efforts)
        yield f"{llm.model} takes no reasoning effort {effort!r}.", f"Choose one of: {taken}."
    if budget is not None and not facts.takes_budget:
        yield (
            f"{llm.model} is not known to take a thinking budget.",
            "Leave it empty. A server with another field for it takes that field as extra body.",
        )
    if budget is not None and effort is not None:
        yield "A model takes either a reasoning effort or a thinking budget.", "Leave one of them empty."


def _of_sampling(llm: LLMSettings, facts: Facts) -> Iterator[tuple[str, str]]:
    given = [name for name in ("temperature", "top_p") if getattr(llm, name) is not None]
    for name in given:
        if name in facts.refused:
            yield f"{llm.model} refuses calls that set {name}.", f"Leave {name} empty."
    thinks = llm.thinking_budget is not None or llm.reasoning_effort not in {None, "none"}
    if given and thinks and facts.maker == "anthropic":
        yield (
            f"{llm.model} refuses {given[0]} while it thinks.",
            f"Leave {given[0]} empty, or the reasoning effort and the thinking budget.",
        )


def _of_sizes(llm: LLMSettings, facts: Facts) -> Iterator[tuple[str, str]]:
    output, most = llm.max_output_tokens, facts.max_output
    if output is not None and most is not None and output > most:
        yield f"{llm.model} writes at most {most} tokens in a reply.", "Lower the output limit."
    window = llm.max_input_tokens or facts.window
    if output is not None and output >= window:
        yield (
            f"An output limit of {output} tokens leaves no room for input in a window of {window}.",
            "Lower the output limit, or set the model's context window.",
        )
    limit = output or most
    if llm.thinking_budget is not None and limit is not None and llm.thinking_budget >= limit:
        yield (
            f"The thinking budget is part of the reply, which has at most {limit} tokens.",
            "Lower the thinking budget, or raise the output limit.",
        )


def _of_extras(llm: LLMSettings) -> Iterator[tuple[str, str]]:
    if taken := sorted(RESERVED & llm.extra_body.keys()):
        yield f"The extra body cannot set {', '.join(taken)}.", "Leave these fields out."
    if llm.location is not None and not llm.model.startswith(VERTEX_PREFIX):
        yield "Only models at Vertex AI have a location.", "Leave the location empty."
    vendor = llm.model.partition("/")[0]
    if llm.extra_body and vendor in OTHER_PROTOCOLS:
        yield f"Calls to {vendor} take no extra body.", "Leave it empty."

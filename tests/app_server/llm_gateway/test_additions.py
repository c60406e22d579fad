"""Tests of extra headers and body fields of a profile, which the gateway adds to each call, for each kind of
vendor.
"""

import json
from typing import Any

import httpx
import pytest

from app_server.llm_gateway.forwarding.added_fields import Additions
from app_server.llm_gateway.forwarding.pass_through import pass_through
from app_server.llm_gateway.forwarding.translate import translate
from app_server.llm_gateway.forwarding.vendors import PassThrough, Translated
from app_server.settings.models import LLMProfile
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plain_http import NO_TLS
from tests.support.scripted_llm import ScriptedLLM, fail, say

CANARY = "hdr-canary-08b3"
ASK: dict[str, Any] = {"model": "ignored", "messages": [{"role": "user", "content": "hello"}]}
HEADERS = {"X-Team": CANARY}

# litellm's own code raises the warnings, not the product's code.
pytestmark = pytest.mark.filterwarnings("ignore")


async def test_they_reach_a_vendor_that_speaks_our_protocol(scripted_llm: ScriptedLLM) -> None:
    scripted_llm.script(fail(400, error=f"bad team {CANARY}"))
    added = Additions(scripted_llm.api_key, PATIENCE_SECONDS, HEADERS, {"min_p": 0.1, "temperature": 1})
    vendor = PassThrough(scripted_llm.base_url, "of-this-test")
    async with httpx.AsyncClient(verify=NO_TLS) as http:
        body = {**ASK, "temperature": 0}
        reply = await pass_through(http, vendor, body, added=added, headers={}, path="/chat/completions")
    asked = scripted_llm.requests[0]
    assert (asked.headers["x-team"], asked.bearer) == (CANARY, scripted_llm.api_key)
    assert asked.body == {**ASK, "model": "of-this-test", "temperature": 1, "min_p": 0.1}
    assert CANARY.encode() not in bytes(reply.body)
    assert b"bad team" in bytes(reply.body)


async def test_headers_reach_a_vendor_with_another_protocol(scripted_llm: ScriptedLLM) -> None:
    scripted_llm.script(say("hi"), fail(400, error=f"bad team {CANARY}"))
    vendor = Translated("anthropic/claude-sonnet-4-5", scripted_llm.base_url.removesuffix("/v1"))
    budget = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    replies = [
        await translate(
            vendor,
            {**ASK, **budget},
            api_key="k",
            timeout_seconds=PATIENCE_SECONDS,
            headers=HEADERS,
        )
        for _ in range(2)
    ]
    asked = scripted_llm.requests[0]
    assert asked.route.endswith("/messages")
    assert asked.headers["x-team"] == CANARY
    assert asked.body["thinking"] == budget["thinking"]
    assert asked.body["max_tokens"] > 2048
    assert json.loads(bytes(replies[0].body))["choices"][0]["message"]["content"] == "hi"
    assert CANARY.encode() not in bytes(replies[1].body)


def test_the_timeout_of_the_profile_counts_before_that_of_the_server() -> None:
    assert LLMProfile(name="x", model="y").chosen.timeout is None
    assert LLMProfile(name="x", model="y", options={"timeout": 7}).chosen.timeout == 7

"""Tests of the routes that list the known models and vendors in pages, for users to choose from."""

from typing import Any

import httpx

from tests.app_server.problems import assert_problem

MODELS, PROVIDERS = "/api/v1/config/models/search", "/api/v1/config/providers/search"


async def walk(client: httpx.AsyncClient, route: str, **params: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    page_id = None
    while True:
        page = (
            await client.get(route, params={**params, **({"page_id": page_id} if page_id else {})})
        ).json()
        items += page["items"]
        if (page_id := page["next_page_id"]) is None:
            return items


async def test_models_are_found_by_vendor_and_name(client: httpx.AsyncClient) -> None:
    found = await walk(client, MODELS, provider__eq="openai", query="GPT-4.1", limit=2)
    names = [one["name"] for one in found]

    assert {"gpt-4.1", "gpt-4.1-mini"} <= set(names)
    assert len(names) == len(set(names)) > 2
    assert {one["provider"] for one in found} == {"openai"}
    assert all("gpt-4.1" in name for name in names)
    unverified = await walk(client, MODELS, provider__eq="openai", verified__eq=False)
    assert unverified
    assert not any(one["verified"] for one in unverified)


async def test_vendors_are_those_that_can_be_spoken_to(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    names = [one["name"] for one in await walk(client, PROVIDERS, limit=5)]

    assert names == sorted(names)
    assert {"openai", "anthropic", "ollama", "gemini"} <= set(names)
    assert [one["name"] for one in await walk(client, PROVIDERS, query="anthro")] == ["anthropic"]
    assert {"openai", "anthropic"} <= {
        one["name"] for one in await walk(client, PROVIDERS, verified__eq=True)
    }
    assert_problem(await anonymous.get(MODELS), 401, "not_authenticated")
    assert_problem(await client.get(PROVIDERS, params={"page_id": "bm9uZQ"}), 400, "bad_page_id")

"""Tests of listing the models that a server has."""

from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tests.app_server.conftest import listening
from tests.app_server.problems import assert_problem

LIST = "/api/v1/settings/model-list"
MODELS: list[dict[str, Any]] = [
    {"id": "Qwen/Qwen3-Coder", "max_model_len": 40960},
    {"id": "small", "meta": {"n_ctx_train": 8192}},
    {"id": "silent"},
    {"no": "id"},
]


async def _answer(request: Request) -> Response:
    match request.headers.get("authorization"):
        case "Bearer page":
            return HTMLResponse("<p>A web site</p>")
        case "Bearer odd":
            return JSONResponse(["x"])
        case "Bearer right":
            return JSONResponse({"data": MODELS})
    return JSONResponse({"error": {"message": "no"}}, 401)


SERVER = Starlette(routes=[Route("/v1/models", _answer)])


async def test_models_are_listed_with_the_length_of_their_context(client: httpx.AsyncClient) -> None:
    async with listening(SERVER) as url:
        listed = await client.post(LIST, json={"base_url": f"{url}/v1/", "api_key": "right"})
    assert listed.status_code == 200, listed.text
    assert [(each["id"], each["context_window"]) for each in listed.json()["models"]] == [
        ("Qwen/Qwen3-Coder", 40960),
        ("small", 8192),
        ("silent", None),
    ]


async def test_the_stored_key_is_used_at_its_own_address_alone(client: httpx.AsyncClient) -> None:
    async with listening(SERVER) as url, listening(SERVER) as other:
        llm = {"model": "openai/x", "base_url": f"{url}/v1", "api_key": "right"}
        await client.post("/api/v1/settings/profiles/mine", json={"llm": llm})
        own = await client.post(LIST, json={"base_url": f"{url}/v1", "profile": "mine"})
        elsewhere = await client.post(LIST, json={"base_url": f"{other}/v1", "profile": "mine"})
    assert own.status_code == 200
    assert_problem(elsewhere, 502, "model_list_refused")


async def test_a_reply_that_is_not_a_list_of_models_is_a_problem(client: httpx.AsyncClient) -> None:
    async with listening(SERVER) as url:
        page = await client.post(LIST, json={"base_url": f"{url}/v1", "api_key": "page"})
        odd = await client.post(LIST, json={"base_url": f"{url}/v1", "api_key": "odd"})
    gone = await client.post(LIST, json={"base_url": f"{url}/v1"})
    assert_problem(page, 502, "llm_base_url_wrong")
    assert_problem(odd, 502, "model_list_refused")
    assert_problem(gone, 502, "llm_vendor_unreachable")
    assert_problem(await client.post(LIST, json={"base_url": ""}), 422, "validation_failed")

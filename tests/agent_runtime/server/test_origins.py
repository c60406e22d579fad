"""Tests of CORS: web pages of allowed origins may read replies of the agent server, and others may not."""

from pathlib import Path

import pytest

from tests.support.agent_app import agent_app


@pytest.mark.parametrize(
    ("settings", "origin", "is_allowed"),
    [
        ({}, "http://localhost:5173", True),
        ({}, "https://evil.example", False),
        ({"allow_cors_origins": ["https://mine.example"]}, "https://mine.example", True),
        ({"allow_cors_origin_regex": r"https://\w+\.mine\.example"}, "https://a.mine.example", True),
        ({"allow_cors_origin_regex": r"https://\w+\.mine\.example"}, "https://a.mine.example.evil", False),
        ({"session_keys": ()}, "http://localhost:5173", False),
    ],
)
async def test_a_page_may_read_replies_only_from_an_allowed_origin(
    tmp_path: Path, settings: dict[str, object], origin: str, is_allowed: bool
):
    async with agent_app(tmp_path, **settings) as client:
        asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        preflight = await client.options("/api/conversations/search", headers=asked)
        reply = await client.get("/health", headers={"Origin": origin})

    assert (preflight.headers.get("access-control-allow-origin") is not None) == is_allowed
    assert (reply.headers.get("access-control-allow-origin") is not None) == is_allowed


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, None),
        ({"Origin": "http://agent"}, None),
        ({"Host": "127.0.0.1:8000"}, None),
        ({"Host": "[::1]:8000"}, None),
        ({"Origin": "https://evil.example"}, "origin_not_allowed"),
        ({"Origin": "null"}, "origin_not_allowed"),
        ({"Host": "rebound.example:8000"}, "host_not_allowed"),
    ],
)
async def test_a_server_without_keys_refuses_pages_of_other_origins(
    tmp_path: Path, headers: dict[str, str], code: str | None
):
    async with agent_app(tmp_path, session_keys=()) as client:
        reply = await client.get("/api/conversations/count", headers=headers)

    assert reply.status_code == (403 if code else 200)
    assert code is None or reply.json()["code"] == code

"""Helpers for tests of calls through the proxy with credentials."""

from typing import Any

import httpx

HOST = "registry.allowed.test"


TOKEN = "credential-7f3a9c51"


ROUTE = "/api/v1/settings/network/credentials"


async def give(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await client.post(ROUTE, json={"host": HOST, "value": TOKEN, **fields})
    assert reply.status_code == 201, reply.text
    found: dict[str, Any] = reply.json()
    return found

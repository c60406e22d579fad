"""Tests of the routes that serve a conversation's working directory as a web site."""

from pathlib import Path

import httpx
import pytest

from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_app import agent_app, called
from tests.support.scripted_llm import ScriptedLLM


async def site(client: httpx.AsyncClient, llm: ScriptedLLM, path: Path) -> str:
    info = await called(client, "POST", "/api/conversations", json=start_request(llm, path))
    (path / "work" / "sub").mkdir(parents=True)
    (path / "work" / "index.html").write_text("<h1>Home</h1>")
    (path / "work" / "sub" / "Grüße.txt").write_text("hello")
    (path / "secret").write_text("not yours")
    (path / "work" / "escape").symlink_to(path / "secret")
    (path / "work" / "away").symlink_to(path)
    return f"/api/conversations/{info['id']}"


async def test_pages_are_served_in_a_sandbox(tmp_path: Path, scripted_llm: ScriptedLLM):
    async with agent_app(tmp_path) as client:
        path = await site(client, scripted_llm, tmp_path)

        for address in (f"{path}/workspace", f"{path}/workspace/", f"{path}/workspace/index.html"):
            page = await client.get(address)
            assert (page.status_code, page.text) == (200, "<h1>Home</h1>")
            assert page.headers["content-type"].startswith("text/html")
            assert page.headers["content-security-policy"].startswith("sandbox")
            assert "allow-same-origin" not in page.headers["content-security-policy"]
            assert page.headers["x-content-type-options"] == "nosniff"
        part = await client.get(f"{path}/workspace/sub/Grüße.txt", headers={"Range": "bytes=1-2"})
        assert (part.status_code, part.text) == (206, "el")


@pytest.mark.parametrize(
    "address",
    ["nothing", "sub", "escape", "away/secret", "../secret", "%2e%2e/secret", "%2Fetc%2Fpasswd", "a%00b"],
)
async def test_nothing_else_of_the_machine_is_served(tmp_path: Path, scripted_llm: ScriptedLLM, address: str):
    async with agent_app(tmp_path) as client:
        path = await site(client, scripted_llm, tmp_path)

        reply = await client.get(f"{path}/workspace/{address}")

    assert reply.status_code == 404
    assert "not yours" not in reply.text


async def test_the_cookie_opens_workspaces_and_nothing_else(tmp_path: Path, scripted_llm: ScriptedLLM):
    async with agent_app(tmp_path) as client:
        path = await site(client, scripted_llm, tmp_path)
        begun = await client.post("/api/auth/workspace-session")
        assert begun.status_code == 204
        cookie = begun.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "session-canary" not in cookie
        del client.headers["X-Session-API-Key"]
        client.cookies.clear()
        assert (await client.get(f"{path}/workspace")).status_code == 401

        client.cookies.set("oh_workspace_session_key", cookie.split("=", 1)[1].split(";")[0])

        assert (await client.get(f"{path}/workspace")).status_code == 200
        assert (await client.get(path)).status_code == 401
        assert (await client.post("/api/auth/workspace-session")).status_code == 401
        client.cookies.clear()
        client.cookies.set("oh_workspace_session_key", "guess")
        assert (await client.get(f"{path}/workspace")).status_code == 401


async def test_the_runtime_of_a_conversation_is_there_as_long_as_the_conversation(
    tmp_path: Path, scripted_llm: ScriptedLLM
):
    async with agent_app(tmp_path) as client:
        path = await site(client, scripted_llm, tmp_path)

        here = await called(client, "GET", f"{path}/runtime")

        assert here == {"runtime_status": "available", "can_resume": True, "runtime_error": None}
        assert await called(client, "POST", f"{path}/runtime/reprovision") == here
        await called(client, "DELETE", path)
        assert (await client.get(f"{path}/runtime")).status_code == 404

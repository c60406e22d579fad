"""Runs the official MCP conformance tests against the MCP server. They send no API key, so a relay adds it.

The other scenarios of these tests need the tools, prompts and resources of a special demonstration
server.
"""

from starlette.types import Receive, Scope, Send

from app_server.users.models import User
from app_server.users.service import create_api_key
from tests.app_server.conftest import App, listening
from tests.support.mcp_judge import judged

SCENARIOS = (
    "server-initialize",
    "ping",
    "logging-set-level",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)


async def test_the_judge_of_the_protocol_finds_no_fault_in_the_mcp_server(app: App, owner: User) -> None:
    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="judge")

    async def with_key(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*scope["headers"], (b"authorization", f"Bearer {key}".encode())]
        await app.public({**scope, "headers": headers}, receive, send)

    async with listening(with_key) as url:
        passed = await judged(f"{url}/mcp", SCENARIOS)
    assert passed == {**dict.fromkeys(SCENARIOS, 1), "dns-rebinding-protection": 2}

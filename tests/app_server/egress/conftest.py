"""Fixtures for the tests of the proxy to the outside: commands call the agent server's relay, and the relay
calls the proxy at the app server's inner listener.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import uvicorn
from pydantic import SecretStr
from sqlalchemy import select

from agent_runtime.server.outgoing.authority_trust import trust
from agent_runtime.server.outgoing.egress_relay import EgressRelay
from agent_runtime.workspace.environment import command_environment, set_trusted
from app_server.conversations.egress_notices import repositories_of
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.core.encryption import load_cipher
from app_server.egress.egress_log import EgressLog
from app_server.egress.models import EgressRecord
from app_server.egress.proxy import EgressProxy
from app_server.egress.shared_port import same_port
from app_server.egress.tls.authority import load_authority
from app_server.http.outgoing_proxy import Upstream
from app_server.http.sandbox_authority import certificate_file
from app_server.users.models import User
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App
from tests.support.outside import Authority, Dns, Handler, Site, own_address, site
from tests.support.patience import PATIENCE_SECONDS

KEY = "the-session-key"


@dataclass
class WayOut:
    """The app server's proxy to the outside, with its own DNS for tests.

    port: the port of the inner listener.
    authority: signs the certificates of the tests' web sites.
    refused: the sandboxes of refused calls, in order, as the proxy reported them.
    """

    app: App
    sandbox_id: UUID
    port: int
    dns: Dns
    authority: Authority
    proxy: EgressProxy
    refused: list[UUID] = field(default_factory=list)

    async def run(self, *command: str, **variables: str) -> tuple[int, str]:
        """Runs a command in the environment of agents' commands, with more variables so that the command
        trusts the tests' web sites. Returns its exit status and its output (standard output and standard
        error).
        """
        believed = str(self.authority.file)
        return await self.run_as_agents(
            *command,
            **{
                "CURL_CA_BUNDLE": believed,
                "REQUESTS_CA_BUNDLE": believed,
                "GIT_SSL_CAINFO": believed,
                "NODE_EXTRA_CA_CERTS": believed,
                "NPM_CONFIG_CAFILE": believed,
                **variables,
            },
        )

    async def run_as_agents(self, *command: str, **variables: str) -> tuple[int, str]:
        """Runs a command in the environment of agents' commands. Returns its exit status and its output
        (standard output and standard error).
        """
        environment = command_environment(variables)
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode(errors="replace")

    async def curl(self, *arguments: str) -> str:
        return (await self.run("curl", "-sS", "--max-time", "60", *arguments))[1]

    @asynccontextmanager
    async def site(self, name: str, handler: Handler, *, tls: bool = True) -> AsyncIterator[Site]:
        """Serves a web site with this host name on port 443, or on port 80 if `tls` is False. Yields the
        site.
        """
        address, port = own_address(), 443 if tls else 80
        context = self.authority.context(name) if tls else None
        async with site(handler, tls=context, address=address, port=port) as found:
            self.dns.answers[name] = [[address]]
            yield found

    async def records(self) -> list[EgressRecord]:
        async with self.app.database.read() as session:
            return list(await session.scalars(select(EgressRecord).order_by(EgressRecord.first_at)))

    async def has_sent(self, size: int) -> bool:
        """Returns whether the recorded calls have sent more than `size` bytes in total. A call is recorded
        when its connection has ended.
        """
        return sum(record.bytes_sent for record in await self.records()) > size

    async def reasons(self) -> list[tuple[str, str]]:
        """Returns the host and the reason of each refused call, in the order of the calls."""
        return [(record.host, record.reason) for record in await self.records() if record.reason]

    async def raw(self, *lines: str, key: str | None = KEY, then: bytes = b"") -> bytes:
        """Sends these lines directly to the proxy, without the relay. Returns the complete answer; it is
        empty if the proxy resets the connection.

        key: the session key to send. None means no key.
        then: bytes that follow the lines.
        """
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        credentials = [f"Proxy-Authorization: Bearer {key}"] if key else []
        writer.write("\r\n".join([lines[0], *credentials, *lines[1:], "", ""]).encode("latin-1") + then)
        if then:
            writer.write_eof()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(
        home=tmp_path / "home",
        database_url=SecretStr(database_url),
        sandbox="process",
        process_isolation="none",
        egress_hosts=["allowed.test", "*.allowed.test", "named.test:9999"],
        egress_private=["127.0.0.0/8"],
    )


@pytest.fixture
async def upstream() -> Upstream:
    """Returns how the proxy reaches the outside: directly, without another proxy."""
    return Upstream()


@pytest.fixture
async def way_out(app: App, owner: User, tmp_path: Path, upstream: Upstream) -> AsyncIterator[WayOut]:
    sandbox_id = await a_sandbox(app, owner)
    authority = Authority(tmp_path)
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        async with open_way_out(app, sandbox_id, authority, listener, upstream) as way_out:
            relay = EgressRelay(f"http://127.0.0.1:{way_out.port}", lambda: KEY)
            await relay.open(0)
            pem = certificate_file(app.config).read_bytes()
            await asyncio.to_thread(trust, tmp_path / "conversations", pem)
            yield way_out
            set_trusted({})
            await relay.close()


@asynccontextmanager
async def open_way_out(
    app: App, sandbox_id: UUID, authority: Authority, listener: socket.socket, upstream: Upstream
) -> AsyncIterator[WayOut]:
    """Serves the inner listener with a proxy that uses the tests' DNS and trusts only certificates of
    `authority`. Yields the `WayOut`.
    """
    dns, refused = Dns(), list[UUID]()
    cipher = load_cipher(app.config)
    proxy = EgressProxy(
        app.config,
        app.database,
        cipher,
        load_authority(app.config, cipher),
        EgressLog(app.database, refused.append),
        repositories_of,
        dns.resolve,
        ssl.create_default_context(cafile=str(authority.file)),
        upstream,
    )
    server = uvicorn.Server(
        uvicorn.Config(app.inner, http=same_port(proxy.serve), lifespan="off", log_config=None)
    )
    task = asyncio.create_task(server.serve([listener]))
    yield WayOut(app, sandbox_id, listener.getsockname()[1], dns, authority, proxy, refused)
    server.should_exit = True
    await task


async def a_sandbox(app: App, owner: User, key: str | None = KEY) -> UUID:
    """Stores a conversation that is READY, and its sandbox. Returns the sandbox's id.

    key: the session key that the proxy accepts for the sandbox. None means that none is stored, as the
    sandbox gets a new one when it starts.
    """
    ids = {"id": uuid4(), "user_id": owner.id}
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        session.add(Conversation(**ids, llm_profile="demo", last_seq=0, selected_repository="acme/shop"))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        sandbox = await app.state["sandboxes"].create(session, sandbox_id=ids["id"], user_id=owner.id)
        if key is not None:
            sandbox.session_key_hash = token_hash(key)
    return ids["id"]

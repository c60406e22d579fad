"""A follower (the object that receives the events of a remote conversation) closes its connection when it
ends.
"""

import asyncio
import threading
from pathlib import Path
from uuid import uuid4

from agent_runtime import LLM, Agent
from agent_runtime.client.callbacks import Callbacks
from agent_runtime.client.follower import Follower
from agent_runtime.client.on_server import OnServer
from agent_runtime.events.content import TextContent
from agent_runtime.wire import SendMessageRequest, StartConversationRequest, WorkingDirectory
from tests.support.agent_server import KEY, AgentServer


async def test_ended_in_the_middle_of_a_callback_it_leaves_no_connection(
    agent_server: AgentServer, tmp_path: Path
):
    agent = Agent(llm=LLM(model="openai/scripted"))
    request = StartConversationRequest.model_validate(
        {"agent": agent.model_dump(mode="json"), "workspace": WorkingDirectory(working_dir=str(tmp_path))}
    )
    link = OnServer(uuid4(), agent, request, host=agent_server.url, api_key=KEY, patience_seconds=30)
    is_called, may_return = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hold(_: object) -> None:
        loop.call_soon_threadsafe(is_called.set)
        may_return.wait()

    callbacks = Callbacks([hold], [])
    await link.open()
    follower = Follower(link, callbacks)
    others = asyncio.all_tasks()
    following = asyncio.create_task(follower.follow())
    try:
        await follower.until(lambda: follower.connections > 0)
        await link.send(SendMessageRequest(role="user", content=[TextContent(text="Hello.")]))
        await is_called.wait()

        following.cancel()
        await asyncio.wait([following])

        assert asyncio.all_tasks() == others, "what keeps a connection alive is still at work"
    finally:
        may_return.set()
        callbacks.close()
        await link.close()

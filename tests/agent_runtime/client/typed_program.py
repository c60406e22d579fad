"""A program as a user of the library writes it. Tests check its types with mypy --strict
and do not run it.
"""

from pathlib import Path
from uuid import UUID

from agent_runtime import (
    LLM,
    Action,
    ActionEvent,
    Agent,
    AnyEvent,
    Conversation,
    ConversationRunError,
    DockerWorkspace,
    ExecutionStatus,
    LocalWorkspace,
    MessageEvent,
    Observation,
    RemoteWorkspace,
    StreamDelta,
    StreamEvent,
    TextContent,
    Tool,
    ToolContext,
    ToolSpec,
)


def note(*what: object) -> None: ...


class CountAction(Action):
    path: str


class CountTool(Tool[CountAction]):
    name = "count"
    description = "Count lines."
    action_type = CountAction
    observation_type = Observation

    def __init__(self, context: ToolContext) -> None:
        self._directory: Path = context.working_dir

    async def run(self, action: CountAction) -> Observation:
        lines = len((self._directory / action.path).read_text().splitlines())
        return Observation(content=[TextContent(text=str(lines))])


def show(event: AnyEvent) -> None:
    if isinstance(event, ActionEvent):
        name: str = event.tool_name
        note(name)
    elif isinstance(event, MessageEvent):
        text: str = event.llm_message.text
        note(text)


def show_piece(piece: StreamEvent) -> None:
    if isinstance(piece, StreamDelta):
        content: str = piece.content
        note(content)


def work(workspace: str | Path | LocalWorkspace | RemoteWorkspace) -> UUID:
    agent = Agent(llm=LLM(model="openai/gpt-5"), tools=[ToolSpec(name="terminal"), ToolSpec.of(CountTool)])
    with Conversation(
        agent=agent, workspace=workspace, callbacks=[show], stream_callbacks=[show_piece]
    ) as conversation:
        conversation.send_message("Count.")
        try:
            conversation.run()
        except ConversationRunError as error:
            code: str = error.event.code
            note(code)
        status: ExecutionStatus = conversation.state.execution_status
        cost: float = conversation.state.cost
        answer: str = conversation.final_response
        first: AnyEvent = conversation.state.events[0]
        note(status, cost, answer, first.id)
        result = conversation.workspace.execute_command("true")
        exit_code: int = result.exit_code
        note(exit_code)
        fork: Conversation = conversation.fork()
        fork.close()
        return conversation.id


def in_container() -> None:
    with DockerWorkspace("image") as workspace:
        work(workspace)

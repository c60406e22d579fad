"""Data that the steps of a conversation's start share: the description of the start, the progress of the
running step, and the outcome of a finished step.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from app_server.agent_client.client import AgentClient
from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.conversations.models import Conversation
from app_server.conversations.repositories.workplaces import Checkout, checkouts_of, projects_of
from app_server.conversations.schemas import StartRequest
from app_server.conversations.start.executables import CheckoutExecutables, decisions_of, without_outer
from app_server.conversations.start.repository import OUTPUT_CHARACTERS
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.git.providers import GitProvider
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.sandboxes.service import Sandboxes

HasOwnTools = Callable[[Config, Collection[GitProvider]], bool]


def no_own_tools(_config: Config, _providers: Collection[GitProvider]) -> bool:
    return False


class Progress:
    """The progress of the step of a conversation's start that is running now. `detail` is the latest line of
    output. `output` is the end of what the step's command has printed.
    """

    def __init__(self) -> None:
        self.detail: str | None = None
        self.output: str | None = None

    def say(self, line: str) -> None:
        self.detail = line[:500]

    def log(self, line: str) -> None:
        self.say(line)
        self.output = ((self.output + "\n" if self.output else "") + line)[-OUTPUT_CHARACTERS:]

    def show(self, output: str) -> None:
        """Replaces the output that the user sees for the running step. `output`: the end of what the step's
        command has printed so far.
        """
        lines = output.rstrip().splitlines()
        if lines:
            self.say(lines[-1])
        self.output = output


@dataclass
class Start:
    """The data for starting one conversation, which all steps of the start use: the conversation's ids, its
    start request and the services of the app server.
    """

    id: UUID
    sandbox_id: UUID
    folder: str | None
    """The conversation's folder below the project's directory, in a sandbox that conversations share. None:
    the conversation uses the whole directory.
    """
    user_id: UUID
    administers: bool
    """Whether the user is an administrator of the installation (User.administers_installation)."""
    request: StartRequest
    repository_url: str | None
    """The repository's URL as the user gave it, possibly with a password. The URL in `request` has no
    password. None: the conversation has no repository.
    """
    llm_profile: str
    has_worked: bool
    """Whether the agent may already have changed files in the checkout. If so, the repository is not fetched
    again, so that no changes are lost.
    """
    config: Config
    database: Database
    cipher: Cipher
    sandboxes: Sandboxes
    git_tokens: HostTokens
    has_own_tools: HasOwnTools
    """A function that returns whether Slipway's own MCP server has tools for the agent. Its arguments are the
    configuration and the git providers for which the user has a token.
    """
    progress: Progress = field(default_factory=Progress)
    _running: RunningSandbox | None = None

    async def sandbox(self) -> RunningSandbox:
        """Returns the running sandbox of the conversation. The first call creates the sandbox or wakes it."""
        if self._running is None:
            self._running = await self.sandboxes.bring_up(self.sandbox_id, self.progress.log)
        return self._running

    async def sandbox_again(self) -> RunningSandbox:
        """Returns the running sandbox of the conversation, and wakes it if it sleeps. Unlike the method
        `sandbox`, always checks again whether the sandbox runs. The start worker calls it if the agent server
        has not replied, because the sandbox may have stopped.
        """
        self._running = None
        return await self.sandbox()

    async def workplace(self) -> tuple[AgentClient, str]:
        """Returns the API client for the agent server and the conversation's working directory. If no working
        directory is stored yet, returns the directory for projects in the sandbox.
        """
        running = await self.sandbox()
        async with self.database.read() as session:
            conversation = await session.get_one(Conversation, self.id)
        return running.client, conversation.working_dir or running.working_root

    @property
    def is_guest(self) -> bool:
        """Returns whether this conversation uses a sandbox that was not made for this conversation: it was
        made for another conversation, or without a conversation.
        """
        return self.sandbox_id != self.id

    def root(self, running: RunningSandbox) -> str:
        """Returns the directory for this conversation's files in the sandbox. No other conversation in the
        same sandbox uses this directory.
        """
        return f"{running.working_root}/{self.folder}" if self.folder else running.working_root

    async def checkouts(self) -> list[Checkout]:
        """Returns the checkouts (directories in the sandbox) of the conversation's repositories. The checkout
        of the first repository comes first.
        """
        _, directory = await self.workplace()
        async with self.database.read() as session:
            return checkouts_of(await session.get_one(Conversation, self.id), directory)

    async def projects(self) -> list[Checkout]:
        """Returns the folders whose hooks, setup scripts and MCP servers the conversation can use: the
        agent's working folder, the folders above it in its repository, and the conversation's further
        repositories (all but the first one).
        """
        return projects_of(await self.checkouts(), self.request.selected_directory)

    async def executables(self) -> list[CheckoutExecutables]:
        """Returns the project executables (hooks, setup scripts, MCP servers …) of each folder of the
        conversation, and the user's decision whether they may run. The executables are read from the files
        that are in the folder now.
        """
        client, projects = (await self.sandbox()).client, await self.projects()
        found = without_outer([(each, await client.executables(each.directory)) for each in projects])
        async with self.database.read() as session:
            return [
                CheckoutExecutables(
                    checkout, executables, await decisions_of(session, self.user_id, checkout.identity)
                )
                for checkout, executables in found
            ]


@dataclass(frozen=True)
class StepOutcome:
    state: Literal["done", "skipped"] = "done"
    detail: str | None = None
    output: str | None = None


Step = Callable[[Start], Awaitable[StepOutcome]]

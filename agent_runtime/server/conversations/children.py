"""Child conversations: conversations that another conversation starts for a task. A child runs at the same
time as its parent and is deleted with its parent.

Child conversations are not reported to the app server, which knows only the conversations that it has
started. The app server learns of a child from the events of the parent.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

from pydantic import ValidationError

from agent_runtime.context.git_state import GitState, git_state
from agent_runtime.conversation.changes import note_children
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.delegation.separate_work_tree import is_set_apart, let_go, repository_of
from agent_runtime.delegation.tasks import SubAgents
from agent_runtime.events.message import Message
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.server.conversations.registry import Registry
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.saved.encrypted_settings import EncryptedSettings
from agent_runtime.tools.delegation import Delegation, DelegationError
from agent_runtime.wire import (
    ChildNotStartedError,
    StartChildConversationRequest,
    StartChildConversationResponse,
    StartConversationRequest,
    WorkingDirectory,
)
from agent_runtime.workspace import work_tree
from agent_runtime.workspace.git import GitError

MAX_CHILDREN = 20
MAX_DEPTH = 3

Isolation = Literal["worktree", "shared"]


class Children:
    """An object that starts and deletes child conversations. `root`: the directory of the children's git work
    trees.

    `tidy`: a function that removes the git work tree of a deleted conversation; it is called with the
    conversation's working directory.
    """

    def __init__(
        self,
        registry: Registry,
        encrypted_settings: EncryptedSettings,
        root: Path,
        tidy: Callable[[Path], Awaitable[None]],
    ) -> None:
        self._registry = registry
        self._encrypted_settings = encrypted_settings
        self._root = root
        self._tidy = tidy

    def delegation_of(self, conversation_id: UUID) -> Delegation:
        """Returns the object with which the agent of this conversation starts child conversations and gives
        tasks to sub-agents.
        """
        return Delegation(
            launch_child=partial(self.start_for_agent, conversation_id),
            tasks=SubAgents(conversation_id, self),
        )

    # Used by sub-agents

    @property
    def trees(self) -> Path:
        return self._root

    def find(self, conversation_id: UUID) -> ConversationEngine | None:
        return self._registry.get(conversation_id) if self._registry.has(conversation_id) else None

    def create(
        self, request: StartConversationRequest, secrets: Secrets, git: GitState | None
    ) -> ConversationEngine:
        try:
            child, _ = self._registry.create(request, secrets, git)
        except ServerProblem as problem:
            raise DelegationError(f"The sub-agent cannot be started: {problem.detail}") from problem
        return child

    def model(self, name: str) -> LLM | None:
        """Returns the model for a sub-agent: the model of the model profile `name` (saved model settings with
        a name). Returns None if the profile does not exist. Raises DelegationError if the profile is not
        valid.

        The cost statistics have an entry for each `usage_id`. The returned model has the `usage_id` `agent`,
        so its calls are counted in the entry `agent`.
        """
        profile = self._encrypted_settings.saved.profiles.get(name)
        try:
            return None if profile is None else LLM.model_validate({**profile, "usage_id": "agent"})
        except ValidationError as error:
            raise DelegationError(f"The profile {name} is not valid.") from error

    async def put_away(self, conversation: ConversationEngine) -> None:
        await conversation.rest()

    # Child conversations

    async def start(
        self, parent_id: UUID, wanted: StartChildConversationRequest
    ) -> StartChildConversationResponse:
        """Creates a child conversation, whose agent starts to work on the task in `wanted`. Returns a
        description of the child.

        Raises ServerProblem 404 if the parent does not exist. Raises ServerProblem 409 `too_many_children` if
        the parent has the maximum number of children or must not have children. Raises ServerProblem 422
        `worktree_failed` if the git work tree of the child cannot be created.
        """
        with self._registry.using(parent_id) as parent:
            self._check_limits(parent)
            child_id = uuid4()
            working_dir, isolation = await self._choose_working_dir(parent, child_id, wanted.isolation)
            # Before the child exists: a child that is unknown to its parent would not be deleted with it.
            note_children(parent, [*parent.state.children, child_id])
            try:
                request, git = _request(parent, wanted, child_id, working_dir), await git_state(working_dir)
                child, _ = self._registry.create(request, git=git)
            except BaseException:
                note_children(parent, [one for one in parent.state.children if one != child_id])
                await work_tree.remove(self._tree_of(child_id))
                raise
            child.run_context.agent = parent.agent
            child.secrets.adopt(parent.secrets)
            child.keep_secrets()
            child.send(Message.of("user", wanted.task))
            child.start()
            return StartChildConversationResponse(
                conversation_id=child.id,
                parent_conversation_id=parent.id,
                status=child.status.value,
                title=wanted.title,
                workspace=str(working_dir),
                isolation=isolation,
            )

    async def start_for_agent(
        self, parent_id: UUID, wanted: StartChildConversationRequest
    ) -> StartChildConversationResponse:
        """Starts a child conversation when the agent of the parent conversation requests this. Returns the
        reply that the method `start` returns. Raises ChildNotStartedError if the child cannot be started. The
        error's text tells the agent the reason.
        """
        try:
            return await self.start(parent_id, wanted)
        except ServerProblem as problem:
            raise ChildNotStartedError(problem.detail) from problem

    async def delete(self, conversation_id: UUID) -> None:
        """Deletes a conversation and its children, and the git work trees in which their agents worked.

        A work tree with uncommitted changes is deleted only if it belongs to a sub-agent's task.
        """
        conversation = self._registry.get(conversation_id)
        # First, because otherwise the conversation would be told of the end of each sub-agent.
        await conversation.interrupt()
        for child_id in conversation.state.children:
            if self._registry.has(child_id):
                await self.delete(child_id)
        parent_id = conversation.spec.parent_conversation_id
        parent = None if parent_id is None else self.find(parent_id)
        await self._registry.delete(conversation_id)
        if parent is not None and is_set_apart(parent, conversation_id):
            await let_go(repository_of(parent, self), conversation_id, self._root)
        elif (tree := self._tree_of(conversation_id)).exists():
            await work_tree.remove(tree)
        await self._tidy(conversation.spec.working_dir)
        if parent is not None:
            note_children(parent, [one for one in parent.state.children if one != conversation_id])

    async def _choose_working_dir(
        self, parent: ConversationEngine, child_id: UUID, isolation: Isolation
    ) -> tuple[Path, Isolation]:
        """Returns the working directory of a new child conversation, and the kind of isolation that it really
        has: `worktree` for a separate git work tree, or `shared` for the directory of its parent.

        If the parent's directory is in no git repository, the child works in the parent's directory, even if
        `isolation` is `worktree`. Raises ServerProblem 422 `worktree_failed` if the work tree cannot be
        created.
        """
        if isolation == "shared":
            return parent.spec.working_dir, "shared"
        try:
            tree = await work_tree.add(
                parent.spec.working_dir, self._tree_of(child_id), f"child/{child_id.hex[:12]}"
            )
        except (GitError, OSError) as error:
            raise ServerProblem(
                422, "worktree_failed", f"No work tree can be made: {error}", "Use the isolation `shared`."
            ) from error
        return (parent.spec.working_dir, "shared") if tree is None else (tree, "worktree")

    def _tree_of(self, conversation_id: UUID) -> Path:
        return self._root / conversation_id.hex

    def _check_limits(self, parent: ConversationEngine) -> None:
        doing_tasks = {task.conversation_id for task in parent.state.tasks.values()}
        if len(set(parent.state.children) - doing_tasks) >= MAX_CHILDREN:
            raise _too_many(f"A conversation has at most {MAX_CHILDREN} children.")
        depth, above = 1, parent.spec.parent_conversation_id
        while above is not None and self._registry.has(above):
            depth, above = depth + 1, self._registry.get(above).spec.parent_conversation_id
        if depth >= MAX_DEPTH:
            raise _too_many("A child of a child cannot have children.")


def _too_many(detail: str) -> ServerProblem:
    return ServerProblem(409, "too_many_children", detail, "Delete children that are done.")


def _request(
    parent: ConversationEngine, wanted: StartChildConversationRequest, child_id: UUID, working_dir: Path
) -> StartConversationRequest:
    """Returns the request that creates a child conversation of `parent`. It is a copy of the request that
    created `parent`, with these changes: It has the child's title (from `wanted`), id and working directory.
    It contains the agent, the confirmation policy and the security analyzer that `parent` uses now. It
    contains no first message, no tags and no options for git work trees.
    """
    now = parent.info()
    return parent.spec.request.model_copy(
        update={
            "agent": parent.agent.model_dump(mode="json"),
            "workspace": WorkingDirectory(working_dir=str(working_dir)),
            "worktree": False,
            "worktree_options": None,
            "conversation_id": child_id,
            "parent_conversation_id": parent.id,
            "initial_message": None,
            "title": wanted.title,
            "autotitle": parent.spec.wants_title,
            "tags": {},
            "confirmation_policy": now.confirmation_policy,
            "security_analyzer": now.security_analyzer,
        }
    )

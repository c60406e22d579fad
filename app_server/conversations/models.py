"""Tables of conversations, of start tasks (the progress of starting one conversation), and of messages that
wait until a conversation has started.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, Text, text
from sqlalchemy.engine.interfaces import ExecutionContext
from sqlalchemy.orm import Mapped, mapped_column

from app_server.conversations.sharing.models import ShareRole
from app_server.core.database import Base, enum_column, now

IMPORTED = "import"
"""The value of `Conversation.trigger` for an imported conversation. Such a conversation counts as started
(status READY) and has no sandbox.
"""

LONG_AGO = datetime.fromisoformat("2000-01-01T00:00:00+00:00")


class StartStatus(StrEnum):
    """The status of a start task, which describes the progress of starting one conversation: the stages of
    the start in their order, then the two final values READY and ERROR.
    """

    WORKING = "WORKING"
    WAITING_FOR_SANDBOX = "WAITING_FOR_SANDBOX"
    PREPARING_REPOSITORY = "PREPARING_REPOSITORY"
    RUNNING_SETUP_SCRIPT = "RUNNING_SETUP_SCRIPT"
    SETTING_UP_GIT_HOOKS = "SETTING_UP_GIT_HOOKS"
    SETTING_UP_SKILLS = "SETTING_UP_SKILLS"
    STARTING_CONVERSATION = "STARTING_CONVERSATION"
    READY = "READY"
    ERROR = "ERROR"


STAGES = tuple(status for status in StartStatus if status not in {StartStatus.READY, StartStatus.ERROR})


def _own_id(context: ExecutionContext) -> UUID:
    found: UUID = context.get_current_parameters()["id"]  # type: ignore[attr-defined]
    return found


class Conversation(Base):
    """One row of the table of conversations. A conversation is a dialogue of a user with an agent. Some
    columns are computed from the event log (log/projection.py).

    `sandbox_id` equals `id` if the sandbox was made for this conversation. It differs if the sandbox was made
    for another conversation or without a conversation.

    A time in `deleted_at` hides the conversation at once. After this time, the start worker (a background
    task of the app server) removes its rows and files. It also removes the sandbox if no other conversation
    uses the sandbox.

    While existing events are copied into a new conversation (a fork or an import), `deleted_at` is a time
    shortly in the future. So the conversation is hidden until it is complete, and it is removed if the
    copying does not finish (log/bulk_append.py).
    """

    __tablename__ = "conversations"
    __table_args__ = (
        Index(None, "user_id", "created_at", "id"),
        # These indexes contain only the few rows that have a value. Otherwise SQLite would use them in place
        # of the index above, and would sort all conversations of a list.
        *(
            Index(
                f"ix_conversations_{column}",
                column,
                postgresql_where=text(f"{column} IS NOT NULL"),
                sqlite_where=text(f"{column} IS NOT NULL"),
            )
            for column in ("deleted_at", "parent_conversation_id")
        ),
        Index(
            "ix_conversations_unsent_title",
            "id",
            postgresql_where=text("unsent_title IS NOT NULL"),
            sqlite_where=text("unsent_title IS NOT NULL"),
        ),
        Index(
            "ix_conversations_everyone",
            "id",
            postgresql_where=text("everyone_role IS NOT NULL"),
            sqlite_where=text("everyone_role IS NOT NULL"),
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    sandbox_id: Mapped[UUID] = mapped_column(default=_own_id, index=True)
    folder: Mapped[str | None] = mapped_column(String(32))
    """In a shared sandbox, this conversation's folder below the project's directory. None: the conversation
    uses the whole directory.
    """
    working_dir: Mapped[str | None] = mapped_column(Text)
    """The conversation's directory inside the sandbox. None until the repository is fetched."""
    selected_repository: Mapped[str | None] = mapped_column(Text)
    selected_branch: Mapped[str | None] = mapped_column(String(255))
    selected_directory: Mapped[str | None] = mapped_column(Text)
    """The folder in which the agent works, relative to the root of the first repository. None: the root."""
    git_provider: Mapped[str | None] = mapped_column(String(50))
    more_repositories: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")
    """The further repositories of the conversation, besides the first one. Each is stored as the JSON values
    of a KeptRepository.
    """
    submodules: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")
    """The git submodules of the conversation's repositories. Each is stored as the JSON values of a
    KeptSubmodule.
    """
    first_repository: Mapped[str | None] = mapped_column(Text)
    """The identity (such as `github.com/owner/name`) of the repository that the conversation began with, if
    the user has selected another repository since then. Empty: the conversation began without a repository.
    None: the user has not selected another repository.
    """
    tags: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """The tags that the user has given the conversation: values by key, both texts. A value may be empty."""
    title: Mapped[str | None] = mapped_column(String(200))
    unsent_title: Mapped[str | None] = mapped_column(String(200))
    """The title that the user gave, until the agent server has received it. While this title is set, a title
    in the event log is older and is ignored.
    """
    trigger: Mapped[str | None] = mapped_column(String(50))
    pr_number: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")
    """The numbers of the pull requests that the conversation is about, as stated by the user."""
    parent_conversation_id: Mapped[UUID | None]
    """The id of the parent conversation. None: this conversation is not a sub-conversation."""
    sub_conversation_ids: Mapped[list[Any]] = mapped_column(default=list, server_default="[]")
    """The hexadecimal ids of the conversation's sub-conversations, in the order of their creation."""
    forked_from_conversation_id: Mapped[UUID | None]
    """The id of the conversation that this one is a copy of. The original may have been deleted since. None:
    this conversation is not a copy.
    """
    everyone_role: Mapped[ShareRole | None] = mapped_column(enum_column(ShareRole))
    """What every user of the organisation may do with the conversation. None: the conversation is not shared
    with everyone. The roles of single people are in ConversationShare.
    """
    llm_profile: Mapped[str] = mapped_column(String(64))
    llm_model: Mapped[str | None] = mapped_column(String(200))
    model_key_hash: Mapped[str | None] = mapped_column(String(64))
    """The hash of the key with which programs in the sandbox call the model. None: there is no such key, so
    programs may not call the model.
    """
    model_key_until: Mapped[datetime | None]
    base_commit: Mapped[str | None] = mapped_column(String(64))
    """The commit at which the agent's work began. The changes that the user sees are the differences from
    this commit. None: the repository was empty.
    """
    execution_status: Mapped[str | None] = mapped_column(String(50))
    metrics: Mapped[dict[str, Any] | None]
    goal: Mapped[dict[str, Any] | None]
    open_questions: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """The number of questions of MCP servers that the user has not answered yet."""
    last_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    folded_state: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)
    """Which events make up the current state of the conversation (log/folded_state.py). If the value is None
    or outdated, it is computed when it is read.
    """
    log_size: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """Total length of the stored events in characters. Events that were stored before this column existed are
    possibly not counted.
    """
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    archived_at: Mapped[datetime | None]
    """The time when the user archived the conversation. None: the conversation is not archived. A message of
    a user sets the value to None.
    """
    deleted_at: Mapped[datetime | None]

    @property
    def chosen_repository(self) -> dict[str, str | None]:
        """Returns the fields of a start request that make a new conversation use the same repository as this
        one: repository, branch, folder and git provider. Returns an empty dict if this conversation has no
        repository.
        """
        if self.selected_repository is None:
            return {}
        names = ("selected_repository", "selected_branch", "selected_directory", "git_provider")
        return {name: getattr(self, name) for name in names}


class StartTask(Base):
    """One row of the table of start tasks: the progress of starting one conversation, from creating its
    sandbox to sending its first message. The id of the task is the id of the conversation.

    While the status is neither READY nor ERROR, one start worker (a background task of an app server) works
    on the task. This is the worker that holds the lease of the row, that is, the right to work on the task
    for a limited time.
    """

    __tablename__ = "start_tasks"
    __table_args__ = (
        Index(None, "status", "lease_until"),
        Index(None, "user_id", "created_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    sandbox_id: Mapped[UUID] = mapped_column(default=_own_id)
    """The id of the conversation's sandbox."""
    status: Mapped[StartStatus] = mapped_column(enum_column(StartStatus))
    detail: Mapped[str | None] = mapped_column(Text)
    request: Mapped[dict[str, Any]]
    encrypted_repository_url: Mapped[str | None] = mapped_column(Text)
    """The repository's URL as it was in the start request, encrypted. None: there is no repository, or its
    URL contains no password.
    """
    encrypted_secrets: Mapped[str | None] = mapped_column(Text)
    """The values of the secrets in the start request, encrypted. The names of the secrets are in `request`.
    """
    agent_server_url: Mapped[str | None] = mapped_column(Text)
    stages: Mapped[list[Any]]
    error: Mapped[dict[str, Any] | None]
    lease_owner: Mapped[str | None] = mapped_column(String(32))
    lease_until: Mapped[datetime] = mapped_column(default=LONG_AGO)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class PendingMessage(Base):
    """One row of the table of messages that wait until the start of their conversation is finished (READY).
    The row is deleted when the agent server has received the message.
    """

    __tablename__ = "pending_messages"
    __table_args__ = (Index(None, "conversation_id", "position"),)

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    id: Mapped[str] = mapped_column(String(128), primary_key=True)
    position: Mapped[int] = mapped_column(Integer)
    message: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)

"""Updates or deletes conversations of a user. Notifies all users who may see these conversations."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.datastructures import State

from app_server.access.audit_trail import AuditTrail
from app_server.conversations import labels, service
from app_server.conversations.live.change_notices import channels_of, tell
from app_server.conversations.models import Conversation
from app_server.conversations.schemas import AppConversation, Tags, UpdateConversation
from app_server.conversations.view import Viewer, conversation_frame
from app_server.core.database import Id
from app_server.core.errors import AppError
from app_server.events.stream import DELETED
from app_server.users.models import User

MAX_CONVERSATIONS = 100


class BatchAction(StrEnum):
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    DELETE = "delete"
    TAG = "tag"


class ConversationBatch(BaseModel):
    """The request body for one action on up to 100 conversations: archive, unarchive, delete or tag.

    tags: only for the action `tag`. The tags are added to the tags of each conversation. If a conversation
    already has a tag with the same key, the tag gets the new value.
    """

    model_config = ConfigDict(extra="forbid")

    action: BatchAction
    ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_CONVERSATIONS)]
    tags: Tags | None = None

    @model_validator(mode="after")
    def _has_tags_to_give(self) -> Self:
        if (self.action is BatchAction.TAG) != bool(self.tags):
            raise ValueError("tags are given with the action `tag`, and only with it")
        return self


class BatchProblem(BaseModel):
    """The reason why one conversation of a batch was not changed. Has the same fields as the body of an error
    reply of the API.
    """

    status: int
    code: str
    detail: str
    fix: str | None


class BatchResult(BaseModel):
    """The result for one conversation, in the reply to a request that changes many conversations at once.

    conversation: the conversation after the change; null if it was deleted or not changed. problem: the
    error; null if the conversation was changed or deleted.
    """

    id: Id
    conversation: AppConversation | None = None
    problem: BatchProblem | None = None


class BatchResults(BaseModel):
    """The reply to a request that changes many conversations at once: one result for each conversation, in
    the order of the ids in the request.
    """

    results: list[BatchResult]


@dataclass(frozen=True)
class ConversationChanges:
    """Updates and deletes conversations for one user, and notifies the users who may see them.

    `state`: the objects that all requests of the app server share, such as the database. `viewer`: converts a
    conversation to the form in which API replies contain it. `user`: the user who makes the changes.
    """

    state: State
    viewer: Viewer
    user: User
    trail: AuditTrail

    async def update(
        self,
        conversation_id: UUID,
        update: UpdateConversation,
        added_tags: Mapping[str, str] | None = None,
    ) -> AppConversation:
        """Changes the title, repository, tags, archive state or visibility of a conversation, and returns the
        conversation. A new title is also sent to the agent server.

        `added_tags`: tags that are added to the present tags. A present tag with the same key gets the new
        value. If `added_tags` is empty or None, the tags in `update` (if they are not None) replace all
        present tags; otherwise the tags in `update` are ignored.

        Raises NotFound if the user may not see the conversation. Raises Forbidden if the user is not its
        owner, or may not use the new repository. Raises InvalidRepository if the address of the new
        repository is not valid. Raises Conflict `too_many_tags` if the conversation would have too many tags.
        """
        state = self.state
        async with state.database.session() as session:
            before = await channels_of(session, conversation_id)
            shown = await labels.change(
                session,
                self.viewer,
                self.user,
                self.trail,
                state.config.home,
                conversation_id,
                update,
                added_tags,
            )
            channels = before | await channels_of(session, conversation_id)
        state.pubsub.publish(conversation_id, [conversation_frame(shown)])
        tell(state.pubsub, channels, conversation_id)
        if update.title is not None:
            state.background.start(state.titles.hand_over(conversation_id), name="hand over a title")
        return shown

    async def delete(self, conversation_id: UUID) -> list[UUID]:
        """Deletes the conversation with its sub-conversations, and notifies all users who see it. Returns the
        ids of all deleted conversations. Raises NotFound if the user may not see the conversation. Raises
        Forbidden `conversation_access_missing` if the user is not its owner.
        """
        state = self.state
        async with state.database.session() as session:
            deleted = await service.delete(session, self.user.id, conversation_id)
            parent_id = (await session.get_one(Conversation, conversation_id)).parent_conversation_id
            changed = [*deleted, *([parent_id] if parent_id else [])]
            channels = {each: await channels_of(session, each) for each in changed}
        for each in deleted:
            state.pubsub.publish(each, [DELETED])
        for each in changed:
            tell(state.pubsub, channels[each], each)
        state.start_worker.wake()
        return deleted

    async def batch(self, wanted: ConversationBatch) -> list[BatchResult]:
        """Does the action of the batch for each of its conversations, one after the other, each in a separate
        transaction. An error for one conversation does not stop the others: its result contains the error.

        Returns one result for each different id, in the order of the ids. The deletion of a conversation also
        deletes its sub-conversations. If the batch contains such a sub-conversation, too, its result says
        that it was deleted.
        """
        results: list[BatchResult] = []
        deleted: set[UUID] = set()
        for each in dict.fromkeys(wanted.ids):
            try:
                if wanted.action is not BatchAction.DELETE:
                    shown = await self._change(each, wanted)
                    results.append(BatchResult(id=each, conversation=shown))
                    continue
                if each not in deleted:
                    deleted.update(await self.delete(each))
                results.append(BatchResult(id=each))
            except AppError as error:
                problem = BatchProblem(
                    status=error.status, code=error.code, detail=error.detail, fix=error.fix
                )
                results.append(BatchResult(id=each, problem=problem))
        return results

    async def _change(self, conversation_id: UUID, wanted: ConversationBatch) -> AppConversation:
        if wanted.action is BatchAction.TAG:
            return await self.update(conversation_id, UpdateConversation(), wanted.tags)
        is_archived = wanted.action is BatchAction.ARCHIVE
        return await self.update(conversation_id, UpdateConversation(archived=is_archived))

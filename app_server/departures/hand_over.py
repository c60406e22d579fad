"""Gives the belongings of a person who leaves, such as conversations, triggers and model profiles, to another
person, the heir.
"""

from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.permissions import Permission, permissions_of
from app_server.callbacks.models import Callback, Processor
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.sharing.models import ConversationShare
from app_server.egress.models import EgressRecord, EgressSetting
from app_server.git_proxy.models import GitPush
from app_server.llm_gateway.limits.models import SpendingAccount
from app_server.pull_requests.models import ConversationPullRequest
from app_server.sandbox_records.models import Archive, Sandbox, SandboxSpec
from app_server.settings.models import LLMProfile
from app_server.triggers.models import Trigger
from app_server.users.models import User


async def hand_over_profiles(session: AsyncSession, person: User, heir: User) -> dict[str, str]:
    """Gives the person's model profiles (saved models with their options and API keys) to the heir, another
    person. A profile is renamed if the heir has a profile of the same name. Returns the new names of the
    renamed profiles, keyed by the old names. The heir's active profile does not change. A shared profile
    stays shared only if the heir is an administrator.

    The base URL of a profile must not lead into the private network until the heir saves it again, even if
    the heir administers the installation. Only the base URLs of persons who administer it may do so at once.
    """
    theirs = (await session.scalars(select(LLMProfile).where(LLMProfile.user_id == person.id))).all()
    names = set(await session.scalars(select(LLMProfile.name).where(LLMProfile.user_id == heir.id)))
    may_share = Permission.ADMINISTER in permissions_of(heir.role, heir.organisation_id)
    renamed: dict[str, str] = {}
    for profile in theirs:
        if profile.name in names:
            renamed[profile.name] = profile.name = _free_name(profile.name, names)
        names.add(profile.name)
        profile.user_id = heir.id
        profile.is_active = False
        if profile.base_url is not None and not person.administers_installation:
            profile.mark_inherited_address()
        if not may_share:
            profile.shared_in = None
    await session.flush()
    return renamed


async def hand_over_conversations(
    session: AsyncSession, person_id: UUID, heir: User, renamed: dict[str, str]
) -> list[UUID]:
    """Gives the person's conversations to another person, the heir, and returns the ids of the conversations.
    The heir also gets their sandboxes, archives, pull requests and network settings, and the records of their
    pushes, network requests and costs. People who could see a conversation can still see it. Model keys, with
    which programs in the sandboxes call the models of the conversations, end.

    `renamed`: the new names of model profiles (saved models with their options) that were renamed for the
    heir, keyed by the old names. The conversations then refer to the new names.
    """
    mine = select(Conversation.id).where(Conversation.user_id == person_id, Conversation.deleted_at.is_(None))
    ids = list(await session.scalars(mine))
    sandbox_query = select(Conversation.sandbox_id).where(Conversation.id.in_(mine)).distinct()
    sandbox_ids = list(await session.scalars(sandbox_query))
    # The rows are locked, because a conversation that joins a sandbox must see who its owner is.
    locked = select(Sandbox.id).where(Sandbox.id.in_(sandbox_query)).order_by(Sandbox.id).with_for_update()
    await session.execute(locked)
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        for of_conversation, column in (
            (StartTask, StartTask.id),
            (ConversationPullRequest, ConversationPullRequest.conversation_id),
            (SpendingAccount, SpendingAccount.id),
        ):
            await session.execute(update(of_conversation).where(column.in_(some)).values(user_id=heir.id))
        model_keys = update(Conversation).where(Conversation.id.in_(some))
        await session.execute(model_keys.values(model_key_hash=None, model_key_until=None))
        in_batch = ConversationShare.conversation_id.in_(some)
        await session.execute(delete(ConversationShare).where(in_batch, ConversationShare.user_id == heir.id))
        for old, new in renamed.items():
            theirs = update(Conversation).where(Conversation.id.in_(some), Conversation.llm_profile == old)
            await session.execute(theirs.values(llm_profile=new))
    for start in range(0, len(sandbox_ids), _BATCH):
        some = sandbox_ids[start : start + _BATCH]
        for of_sandbox, sandbox_column in (
            # Conversations that are being deleted are included, because a sandbox belongs to one person.
            (Conversation, Conversation.sandbox_id),
            (Sandbox, Sandbox.id),
            (Archive, Archive.sandbox_id),
            (GitPush, GitPush.sandbox_id),
            (EgressRecord, EgressRecord.sandbox_id),
            (EgressSetting, EgressSetting.sandbox_id),
        ):
            own = update(of_sandbox).where(sandbox_column.in_(some), of_sandbox.user_id == person_id)
            await session.execute(own.values(user_id=heir.id))
    return ids


async def hand_over_callbacks(session: AsyncSession, person_id: UUID, heir: User) -> None:
    """Gives the person's callbacks to another person, the heir. Callbacks are actions that run for events of
    conversations, such as webhook calls. A callback of an administrator can run for the conversations of all
    users of the organisation. If the heir is not an administrator, such a callback then runs only for the
    heir's conversations.

    Callbacks with an address or instructions that the person has entered are disabled, because they would
    send the events of the heir there or act for the heir. The heir reads them and enables them.
    """
    theirs = Callback.user_id == person_id
    with_content = update(Callback).where(theirs, Callback.processor.in_(_WITH_CONTENT))
    await session.execute(with_content.values(is_enabled=False, disabled_reason=_CHECK_FIRST))
    values: dict[str, object] = {"user_id": heir.id}
    if Permission.ADMINISTER not in permissions_of(heir.role, heir.organisation_id):
        values["is_for_everyone"] = False
    await session.execute(update(Callback).where(theirs).values(**values))


async def hand_over_triggers(
    session: AsyncSession, person_id: UUID, heir: User, renamed: dict[str, str]
) -> None:
    """Gives the person's triggers (rules by which events at a git host start conversations) to another
    person, the heir. From then on, the triggers use the heir's token for the git host. If a trigger names a
    sandbox spec (the image and settings of new sandboxes) of the person, the trigger then names no spec.

    `renamed`: the new names of model profiles (saved models with their options) that were renamed for the
    heir, keyed by the old names. The triggers then refer to the new names.
    """
    specs = await session.scalars(select(SandboxSpec.id).where(SandboxSpec.user_id == person_id))
    known = {form for id_ in specs for form in (str(id_), id_.hex)}
    for trigger in await session.scalars(select(Trigger).where(Trigger.user_id == person_id)):
        trigger.user_id = heir.id
        if trigger.llm_profile is not None:
            trigger.llm_profile = renamed.get(trigger.llm_profile, trigger.llm_profile)
        if trigger.sandbox_spec_id in known:
            trigger.sandbox_spec_id = None
    await session.flush()


_BATCH = 500
_WITH_CONTENT = (Processor.WEBHOOK, Processor.CHAT, Processor.MAIL, Processor.TASK)
_CHECK_FIRST = "A person who has left set this up. Check its address or instructions before you enable it."


def _free_name(name: str, taken: set[str]) -> str:
    for number in range(2, len(taken) + 3):
        ending = f"-{number}"
        if (free := name[: 64 - len(ending)] + ending) not in taken:
            return free
    raise AssertionError("one of them is free")

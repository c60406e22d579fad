"""Lists the hosts to which network requests of a conversation were refused, and stores the user's decisions
about these hosts.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.egress_notices import identity_of, repositories_of
from app_server.conversations.models import Conversation
from app_server.core.addresses import DEFAULT_PORTS, HostRule, parse_host, parse_rule
from app_server.core.config import Config
from app_server.core.database import Timestamp
from app_server.core.errors import BadRequest
from app_server.egress import log_records as records
from app_server.egress import settings
from app_server.egress.egress_log import FURTHER_HOSTS
from app_server.egress.models import EgressRecord
from app_server.egress.policy import ALLOWABLE, EgressMode, Policy, Reason
from app_server.egress.settings import Scope
from app_server.http.strict_body import StrictBody
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

MAX_SHOWN = 50

_NO_MATTER_OF_POLICY = frozenset((Reason.BAD_HOST, Reason.UNKNOWN_HOST, Reason.UNREACHABLE))


class RefusedHost(BaseModel):
    """A host to which a network request from the conversation's sandbox was refused.

    client: the name of the requesting program, from its `User-Agent` header. count: the number of refused
    requests. is_allowable: whether the user may allow this host.
    """

    host: str
    port: int
    reason: Reason
    client: str
    count: int
    last_at: Timestamp
    is_allowable: bool


class ConversationNetwork(BaseModel):
    """The network settings and the refused hosts of a conversation.

    mode: the network mode that applies to the sandbox now. It says to which hosts programs in the sandbox may
    connect. repository: the repository for which the user can allow a host; null if the conversation has no
    repository. allowed: hosts that were allowed only for this conversation. refused: hosts that the user has
    not decided about, latest first.
    """

    mode: EgressMode
    repository: str | None
    allowed: list[str]
    refused: list[RefusedHost]


class AnswerNetwork(StrictBody):
    """The request body with the user's decision about a refused host.

    answer: `conversation` allows the host for this conversation, `repository` allows it for all conversations
    of the same repository, `ignore` hides the host from the list of refused hosts.
    """

    host: Annotated[str, StringConstraints(max_length=255), AfterValidator(parse_host)]
    port: Annotated[int, Field(ge=1, le=65535)]
    answer: Literal["conversation", "repository", "ignore"]


async def network_of(
    session: AsyncSession, config: Config, conversation: Conversation
) -> ConversationNetwork:
    repository = identity_of(conversation)
    repositories = await repositories_of(session, conversation.sandbox_id)
    await put_team_of_sandbox_first(session, conversation.sandbox_id)
    policy = await settings.policy_of(
        session, config, conversation.user_id, repositories=repositories, sandbox_id=conversation.sandbox_id
    )
    own = await settings.get(session, conversation.user_id, Scope.of_sandbox(conversation.sandbox_id))
    ignored = [parse_rule(rule) for rule in own.ignored]
    return ConversationNetwork(
        mode=policy.mode,
        repository=repository,
        allowed=own.hosts,
        refused=_waiting(await records.refused(session, conversation.sandbox_id), policy, ignored),
    )


async def answer(session: AsyncSession, conversation: Conversation, body: AnswerNetwork) -> None:
    """Stores the user's decision about a refused host.

    Raises BadRequest `no_repository` if the host is to be allowed for the repository but the conversation has
    no repository. Raises Conflict `too_many_hosts` if the list of allowed or ignored hosts has its maximum
    length. Raises Forbidden `setting_enforced` if an enforced rule of the organisation or of a team denies
    the host.
    """
    rule = HostRule(body.host, None if body.port in DEFAULT_PORTS else body.port)
    match body.answer:
        case "ignore":
            await settings.ignore(session, conversation.user_id, conversation.sandbox_id, rule)
        case "conversation":
            await settings.allow(
                session, conversation.user_id, Scope.of_sandbox(conversation.sandbox_id), rule
            )
        case "repository":
            repository = identity_of(conversation)
            if repository is None:
                raise BadRequest("This conversation has no repository.", code="no_repository")
            await settings.allow(session, conversation.user_id, Scope.of_repository(repository), rule)


def _waiting(found: Sequence[EgressRecord], policy: Policy, ignored: Sequence[HostRule]) -> list[RefusedHost]:
    waiting: dict[tuple[str, int], RefusedHost] = {}
    for record in found:
        reason = Reason(record.reason)
        if reason in _NO_MATTER_OF_POLICY or record.host == FURTHER_HOSTS:
            continue
        if reason in {Reason.NOT_ALLOWED, Reason.DENIED, Reason.NETWORK_OFF} and not policy.refusal(
            record.host, record.port
        ):
            continue  # the user has allowed the host since
        if any(rule.permits(record.host, record.port) for rule in ignored):
            continue
        key = (record.host, record.port)
        if known := waiting.get(key):
            known.count += record.count
        elif len(waiting) < MAX_SHOWN:
            waiting[key] = _refused(record, reason)
    return [*waiting.values()]


def _refused(record: EgressRecord, reason: Reason) -> RefusedHost:
    return RefusedHost(
        host=record.host,
        port=record.port,
        reason=reason,
        client=record.client.partition("/")[0],
        count=record.count,
        last_at=record.last_at,
        is_allowable=reason in ALLOWABLE,
    )

"""Stores the network settings of users, repositories and sandboxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy import Select, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.addresses import HostRule, parse_rule
from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.errors import BadRequest, Conflict
from app_server.egress.models import MAX_SUBJECT_CHARACTERS, EgressScope, EgressSetting
from app_server.egress.policy import EgressMode, Policy, RuleOfLevel, known_hosts
from app_server.egress.rules_of_levels import require_not_denied, rules_for

MAX_HOSTS = 500


@dataclass(frozen=True)
class Scope:
    """What a network setting applies to: a user, a repository or a sandbox. `subject`: see EgressSetting."""

    kind: EgressScope
    subject: str = ""
    sandbox_id: UUID | None = None

    @classmethod
    def of_sandbox(cls, sandbox_id: UUID) -> "Scope":
        return cls(EgressScope.SANDBOX, sandbox_id.hex, sandbox_id)

    @classmethod
    def of_repository(cls, identity: str) -> "Scope":
        """Returns the scope for one repository. Raises BadRequest if the repository's identity is too long to
        be stored.
        """
        if not 0 < len(identity) <= MAX_SUBJECT_CHARACTERS:
            raise BadRequest("The name of the repository is too long to be remembered.")
        return cls(EgressScope.REPOSITORY, identity)


OF_USER = Scope(EgressScope.USER)


async def policy_of(
    session: AsyncSession,
    config: Config,
    user_id: UUID,
    *,
    repositories: Sequence[str | None],
    sandbox_id: UUID | None,
) -> Policy:
    """Returns the network policy of a sandbox: the mode of the narrowest scope that has one, and the hosts of
    all scopes.

    repositories: one for each conversation in the sandbox, None for a conversation without a repository. If
    their policies differ, a host is allowed only if all of them allow it. sandbox_id: None means any sandbox
    with these repositories.
    """
    settings = await _about(session, user_id, repositories, sandbox_id)
    of_levels = await rules_for(session, user_id)
    subjects = dict.fromkeys(repositories or [None])
    return Policy.strictest([_policy(config, settings, each, of_levels) for each in subjects])


def _policy(
    config: Config,
    settings: Sequence[EgressSetting],
    repository: str | None,
    of_levels: Sequence[RuleOfLevel],
) -> Policy:
    mode = EgressMode(config.egress)
    own: list[HostRule] = []
    for scope in EgressScope:
        for setting in settings:
            is_meant = setting.scope != EgressScope.REPOSITORY or setting.subject == repository
            if setting.scope == scope and is_meant:
                mode = setting.mode or mode
                own += map(parse_rule, setting.hosts)
    rules = [*known_hosts(), *map(parse_rule, config.egress_hosts), *own]
    return Policy(mode, rules, own, of_levels)


async def get(session: AsyncSession, user_id: UUID, scope: Scope) -> EgressSetting:
    """Returns the stored network setting. Returns an empty setting, which is not stored, if there is none."""
    found = await session.scalar(_query(user_id, scope))
    return found or EgressSetting(
        user_id=user_id, scope=scope.kind, subject=scope.subject, mode=None, hosts=[], ignored=[]
    )


async def of_repositories(session: AsyncSession, user_id: UUID) -> Sequence[EgressSetting]:
    query = select(EgressSetting).where(
        EgressSetting.user_id == user_id, EgressSetting.scope == EgressScope.REPOSITORY
    )
    return (await session.scalars(query.order_by(EgressSetting.subject))).all()


async def save(
    session: AsyncSession, user_id: UUID, scope: Scope, mode: EgressMode | None, hosts: Sequence[HostRule]
) -> EgressSetting:
    """Replaces the mode and the hosts of a network setting; ignored hosts stay. Raises Conflict
    `too_many_hosts`, Forbidden `setting_enforced` for a new host that is denied.
    """
    setting = await _locked(session, user_id, scope)
    await require_not_denied(session, user_id, [rule for rule in hosts if str(rule) not in setting.hosts])
    setting.mode = mode
    setting.hosts = _few([*dict.fromkeys(map(str, hosts))])
    await session.flush()
    return setting


async def allow(session: AsyncSession, user_id: UUID, scope: Scope, rule: HostRule) -> None:
    """Adds an allowed host to a network setting. Raises Conflict `too_many_hosts`, Forbidden
    `setting_enforced`.
    """
    await require_not_denied(session, user_id, [rule])
    setting = await _locked(session, user_id, scope)
    setting.hosts = _few([*dict.fromkeys([*setting.hosts, str(rule)])])


async def ignore(session: AsyncSession, user_id: UUID, sandbox_id: UUID, rule: HostRule) -> None:
    """Stops notifications about a host that was refused to the sandbox. Raises Conflict `too_many_hosts`."""
    setting = await _locked(session, user_id, Scope.of_sandbox(sandbox_id))
    setting.ignored = _few([*dict.fromkeys([*setting.ignored, str(rule)])])


async def forget(session: AsyncSession, user_id: UUID, scope: Scope) -> None:
    if setting := await session.scalar(_query(user_id, scope)):
        await session.delete(setting)


async def _locked(session: AsyncSession, user_id: UUID, scope: Scope) -> EgressSetting:
    """Returns the locked database row of a network setting and creates the row if needed. The lock is needed
    because two browser windows may change the same setting at the same time.
    """
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(EgressSetting).values(
        id=uuid4(),
        user_id=user_id,
        scope=scope.kind,
        subject=scope.subject,
        sandbox_id=scope.sandbox_id,
        mode=None,
        hosts=[],
        ignored=[],
        updated_at=now(),
    )
    await session.execute(row.on_conflict_do_nothing(index_elements=["user_id", "scope", "subject"]))
    setting = await session.scalar(_query(user_id, scope).with_for_update())
    assert setting is not None
    return setting


def _query(user_id: UUID, scope: Scope) -> Select[EgressSetting]:
    return select(EgressSetting).where(
        EgressSetting.user_id == user_id,
        EgressSetting.scope == scope.kind,
        EgressSetting.subject == scope.subject,
    )


async def _about(
    session: AsyncSession, user_id: UUID, repositories: Sequence[str | None], sandbox_id: UUID | None
) -> Sequence[EgressSetting]:
    subjects = ["", *([sandbox_id.hex] if sandbox_id else []), *filter(None, repositories)]
    query = select(EgressSetting).where(EgressSetting.user_id == user_id, EgressSetting.subject.in_(subjects))
    return (await session.scalars(query)).all()


def _few(hosts: list[str]) -> list[str]:
    if len(hosts) > MAX_HOSTS:
        raise Conflict(
            f"{MAX_HOSTS} hosts are listed already, which is the limit.",
            code="too_many_hosts",
            fix="Use *.name for all hosts below a name, or remove some.",
        )
    return hosts

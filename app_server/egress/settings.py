"""Reads and changes the network settings of users, repositories and sandboxes in the database, and computes
the network policy of a sandbox from them.
"""

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
from app_server.egress.organisation_rules import require_not_denied, rules_for
from app_server.egress.policy import EgressMode, Policy, RuleOfLevel, known_hosts

MAX_HOSTS = 500


@dataclass(frozen=True)
class Scope:
    """The scope of a network setting: which sandboxes the setting applies to. These are all sandboxes of a
    user, those that work on one repository, or a single sandbox.

    `subject`: empty for all sandboxes of a user; otherwise the identity of the repository (`host/owner/name`
    or a path), or the id of the sandbox as hexadecimal text. `sandbox_id`: the id of the sandbox if the scope
    is a single sandbox; otherwise None.
    """

    kind: EgressScope
    subject: str = ""
    sandbox_id: UUID | None = None

    @classmethod
    def of_sandbox(cls, sandbox_id: UUID) -> "Scope":
        return cls(EgressScope.SANDBOX, sandbox_id.hex, sandbox_id)

    @classmethod
    def of_repository(cls, identity: str) -> "Scope":
        """Returns the scope of the sandboxes that work on the repository with this identity
        (`host/owner/name` or a path). Raises BadRequest if the identity is empty or too long to be stored.
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
    """Returns the network policy of a sandbox: the mode (no host, only allowed hosts, or all public hosts)
    and the allowed hosts. They come from the settings of four scopes, from wide to narrow: the installation,
    the user, the repository, the sandbox. The mode is that of the narrowest scope that sets a mode. The
    allowed hosts are those of all four scopes together. The policy also contains the rules of the
    organisation and of the user's teams.

    repositories: the identity (`host/owner/name` or a path) of the repository of each conversation in the
    sandbox; None stands for a conversation without a repository. For several repositories, one policy is
    computed for each; the sandbox may then call a host only if each of these policies allows it. sandbox_id:
    the sandbox; None to compute the policy without the settings that apply to a single sandbox.
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
    """Returns the user's network setting for this scope. If there is none, returns a new setting without a
    mode and without hosts, and does not store it.
    """
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
    """Replaces the mode and the allowed hosts of the user's network setting for this scope, and returns the
    setting. The list of ignored hosts does not change.

    Raises Conflict `too_many_hosts` if there are more than MAX_HOSTS hosts. Raises Forbidden
    `setting_enforced` if an enforced rule of the organisation or of a team denies one of the new hosts.
    """
    setting = await _locked(session, user_id, scope)
    await require_not_denied(session, user_id, [rule for rule in hosts if str(rule) not in setting.hosts])
    setting.mode = mode
    setting.hosts = _few([*dict.fromkeys(map(str, hosts))])
    await session.flush()
    return setting


async def allow(session: AsyncSession, user_id: UUID, scope: Scope, rule: HostRule) -> None:
    """Adds a host to the allowed hosts of the user's network setting for this scope. Creates the setting if
    there is none.

    Raises Conflict `too_many_hosts` if the setting already has MAX_HOSTS hosts. Raises Forbidden
    `setting_enforced` if an enforced rule of the organisation or of a team denies the host.
    """
    await require_not_denied(session, user_id, [rule])
    setting = await _locked(session, user_id, scope)
    setting.hosts = _few([*dict.fromkeys([*setting.hosts, str(rule)])])


async def ignore(session: AsyncSession, user_id: UUID, sandbox_id: UUID, rule: HostRule) -> None:
    """Stops notifications to the user about a host that the egress proxy refuses to this sandbox. The host
    stays refused. Raises Conflict `too_many_hosts` if notifications are already stopped for MAX_HOSTS
    hosts.
    """
    setting = await _locked(session, user_id, Scope.of_sandbox(sandbox_id))
    setting.ignored = _few([*dict.fromkeys([*setting.ignored, str(rule)])])


async def forget(session: AsyncSession, user_id: UUID, scope: Scope) -> None:
    if setting := await session.scalar(_query(user_id, scope)):
        await session.delete(setting)


async def _locked(session: AsyncSession, user_id: UUID, scope: Scope) -> EgressSetting:
    """Returns the database row of the user's network setting for this scope and locks the row until the
    transaction ends. Creates the row if there is none.

    The lock is needed because two browser windows may change the same setting at the same time.
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

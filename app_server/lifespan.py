"""Opens the objects that the server uses for its whole run, such as the database, and closes them in reverse
order.

The public app (for users) and the inner app (for sandboxes) share these objects (server_state.py).
"""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from uuid import UUID

import httpx

from agent_runtime.relay.http import new_transport
from app_server import demo
from app_server.access.credentials_in_use import CHECK_SECONDS, CredentialsInUse
from app_server.audit.retention import TRIM_EVERY, TRIM_KIND, trimmer
from app_server.audit_stream import delivery as audit_delivery
from app_server.audit_stream.delivery import StreamDelivery
from app_server.audit_stream.router import unsent_after
from app_server.callbacks.comments import Commenting
from app_server.callbacks.delivery import FORGET_EVERY, FORGET_KIND, Deliveries
from app_server.callbacks.delivery import POLICY as DELIVERY_POLICY
from app_server.callbacks.matching import KIND as DELIVER_KIND
from app_server.conversations.by_sandbox import (
    attribution_of,
    folder_of,
    llm_caller_of,
    owner_of_conversation,
    program_of,
    works_in,
)
from app_server.conversations.callback_conversations import starter
from app_server.conversations.egress_notices import announce_refusal, repositories_of
from app_server.conversations.live.change_notices import announce
from app_server.conversations.repositories.git_access import git_work_of
from app_server.conversations.retention.job import EVERY as RETAIN_EVERY
from app_server.conversations.retention.job import KIND as RETAIN_KIND
from app_server.conversations.retention.job import retainer
from app_server.conversations.sharing.followers import Followers
from app_server.conversations.sharing.link_readers import LinkReaders
from app_server.conversations.start.log_reconciliation import reconcile_all
from app_server.conversations.start.worker import StartWorker
from app_server.conversations.titles import INTERVAL_SECONDS as TITLES_INTERVAL_SECONDS
from app_server.conversations.titles import Titles, title_of
from app_server.conversations.trigger_progress import PROGRESS_KIND
from app_server.conversations.view import position_of
from app_server.core.addresses import parse_named
from app_server.core.background import Background
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import load_cipher
from app_server.core.jobs.worker import Jobs
from app_server.core.migrations import migrate, wait_for_other_servers
from app_server.core.pubsub import PubSub, make_pubsub, require_redis
from app_server.departures.deletion import KIND as DELETE_PERSON_KIND
from app_server.departures.deletion import POLICY as DELETE_PERSON_POLICY
from app_server.departures.deletion import deleter
from app_server.egress.egress_log import EgressLog
from app_server.egress.proxy import EgressProxy
from app_server.egress.tls.authority import load_authority
from app_server.events.log import read_body
from app_server.events.open_streams import OpenStreams
from app_server.gateway.exposed_urls import agent_server_key, exposed_urls
from app_server.git.grants import REVOCATION_KIND
from app_server.git_hosts.authorization.host_tokens import HostTokens
from app_server.git_hosts.authorization.revocation import POLICY as REVOCATION_POLICY
from app_server.git_hosts.authorization.revocation import Revocations
from app_server.git_hosts.rate_limits import RateLimits
from app_server.git_hosts.suggested_tasks import SuggestedTasks
from app_server.git_proxy.access import Moves
from app_server.http.certificates import public_authorities
from app_server.http.guarded_client import BoundClient, Guard, GuardedTransport
from app_server.http.outgoing_proxy import upstream_of
from app_server.installation_backup.restore import require_complete_home
from app_server.llm_gateway.limits.calls import RENEWAL_SECONDS, Spending
from app_server.llm_gateway.load_limits import CallCapacity
from app_server.mcp.agent_tools import INSTRUCTIONS as FOR_AGENTS
from app_server.mcp.agent_tools import has_tools
from app_server.mcp.router import INSTRUCTIONS as FOR_PROGRAMS
from app_server.mcp.streamable_http import ServedTools
from app_server.mcp_broker.pass_through import Exchanges
from app_server.mcp_servers.grants import Grants
from app_server.mcp_servers.sign_in import SignIns
from app_server.sandbox_backends.remote.tls import trust_of_hosts
from app_server.sandbox_records.server_lease import RENEW_SECONDS, Lease
from app_server.sandbox_reports.fairness import Fairness
from app_server.sandboxes.service import Sandboxes
from app_server.server_state import ServerState
from app_server.settings.sharing import add_first_profiles
from app_server.sign_in.identities.accounts import users_with_address
from app_server.sign_in.invitation_mail import delivery as invitation_delivery
from app_server.sign_in.invitation_mail.service import KIND as INVITATION_KIND
from app_server.sign_in.oidc.discovery import Providers
from app_server.sign_in.passwords import throttle
from app_server.sign_in.passwords.hashing import PasswordHashing
from app_server.sign_in.refused_sign_ins import RefusedSignIns
from app_server.sign_in.saml.providers import SamlProviders
from app_server.skill_catalogue import update_check
from app_server.triggers import handling, progress, retention
from app_server.triggers.comment_targets import comment_targets_of
from app_server.triggers.conversation_limit import HELD_KIND, releaser
from app_server.triggers.handling import Handling
from app_server.triggers.progress import TriggerProgress
from app_server.triggers.receiving import KIND as HANDLE_KIND
from app_server.triggers.receiving import Receiving
from app_server.triggers.shared_objects import Setting
from app_server.users.models import Role
from app_server.users.service import create_user, find_owner

logger = logging.getLogger(__name__)

_MONITOR_INTERVAL_SECONDS = 2.0
_REST_INTERVAL_SECONDS = 15.0
_SECURE_INTERVAL_SECONDS = 10.0


@asynccontextmanager
async def lifespan(config: Config) -> AsyncIterator[ServerState]:
    """Opens all objects that the public app and the inner app (for sandboxes) share, such as the database,
    and yields them. Closes them in reverse order when the server stops.

    Raises an error of core/startup_failures.py if the server cannot start.
    """
    config.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with AsyncExitStack() as stack:
        database = await _open_database(config, stack)
        await _make_demo(config)
        cipher = load_cipher(config)
        authority = load_authority(config, cipher)
        upstream = upstream_of()
        guard = Guard(parse_named(config.egress_private), upstream=upstream)
        guarded_http = await stack.enter_async_context(
            httpx.AsyncClient(transport=GuardedTransport(guard), **_client_options())
        )
        http = await stack.enter_async_context(BoundClient(guarded_http, guard, **_client_options()))
        trust = trust_of_hosts(config)
        relay_transport = await stack.enter_async_context(new_transport(trust=trust or public_authorities()))
        redis_url = config.redis_url.get_secret_value() if config.redis_url else None
        if redis_url:
            await require_redis(redis_url)
        pubsub = make_pubsub(redis_url)
        stack.push_async_callback(pubsub.close)
        sandboxes = Sandboxes(config, database, cipher)
        lease = Lease(config, database, sandboxes.ownership)
        await lease.take()
        stack.push_async_callback(lease.release)
        await sandboxes.open()
        stack.push_async_callback(sandboxes.close)
        background = Background()
        stack.push_async_callback(background.close)
        credentials_in_use = CredentialsInUse(database)
        followers = Followers(database)
        link_readers = LinkReaders(database)
        password_hashing = PasswordHashing()
        stack.push_async_callback(password_hashing.close)
        spending = Spending(database, pubsub, partial(announce, database, pubsub, sandboxes))
        stack.push_async_callback(spending.close)
        if config.database_file:
            await spending.release_all()
        titles = Titles(database, sandboxes)
        git_tokens = HostTokens(database, cipher, http, guarded_http)
        start_worker = StartWorker(
            config, database, cipher, sandboxes, pubsub, git_tokens, has_own_tools=has_tools
        )
        sandboxes.listen(
            on_change=start_worker.announce_sandbox,
            on_return=start_worker.bring_back,
            on_restored=partial(reconcile_all, database),
            position=partial(position_of, database),
        )
        mcp_sign_ins = SignIns()
        stack.push_async_callback(mcp_sign_ins.close)
        await start_worker.open()
        stack.push_async_callback(start_worker.close)

        def tell_of_refusal(sandbox_id: UUID) -> None:
            background.start(announce_refusal(database, pubsub, sandbox_id), name="tell of a refusal")

        triggers = Setting(
            config, database, cipher, http, guarded_http, RateLimits(), git_tokens, sandboxes, start_worker
        )
        jobs = await _open_jobs(
            config,
            database,
            pubsub,
            Deliveries(
                database,
                cipher,
                http,
                guarded_http,
                read_body,
                title_of,
                config.base_url,
                config.mail,
                Commenting(
                    database, cipher, http, guarded_http, triggers.limits, git_tokens, comment_targets_of
                ),
                starter(config, database, cipher, sandboxes, start_worker),
            ),
            Revocations(database, cipher, http, guarded_http),
            triggers,
            sandboxes,
            start_worker,
            StreamDelivery(database, cipher, http),
            stack,
        )
        egress = EgressProxy(
            config,
            database,
            cipher,
            authority,
            EgressLog(database, tell_of_refusal),
            repositories_of,
            upstream=upstream,
        )
        for work, name, seconds in (
            (lease.renew, "id of this server", RENEW_SECONDS),
            (spending.renew, "reservations of calls", RENEWAL_SECONDS),
            (sandboxes.check, "sandbox monitor", _MONITOR_INTERVAL_SECONDS),
            (sandboxes.keep_secure, "packet filter", _SECURE_INTERVAL_SECONDS),
            (egress.end_forbidden, "open connections", _MONITOR_INTERVAL_SECONDS),
            (credentials_in_use.check, "credentials in use", CHECK_SECONDS),
            (followers.check, "followers of conversations", CHECK_SECONDS),
            (link_readers.check, "readers of links", CHECK_SECONDS),
            (titles.hand_over_all, "titles", TITLES_INTERVAL_SECONDS),
            (sandboxes.rest, "idle sandboxes", _REST_INTERVAL_SECONDS),
            (sandboxes.measure, "sizes of workspaces", _REST_INTERVAL_SECONDS),
            (sandboxes.archiving.tidy, "archives", _REST_INTERVAL_SECONDS),
            (sandboxes.backups.make, "backups", _REST_INTERVAL_SECONDS),
        ):
            background.run_forever(
                work,
                name=name,
                interval_seconds=seconds,
                # What has just been taken or set need not be renewed at once.
                pauses_first=work in (lease.renew, spending.renew, sandboxes.keep_secure),
            )
        yield ServerState(
            config=config,
            database=database,
            cipher=cipher,
            http=http,
            identity_providers=Providers(config.oidc_providers, http, guard),
            saml_providers=SamlProviders(config, http),
            password_hashing=password_hashing,
            guard=guard,
            guarded_http=guarded_http,
            relay_transport=relay_transport,
            trust_of_hosts=trust,
            background=background,
            jobs=jobs,
            pubsub=pubsub,
            credentials_in_use=credentials_in_use,
            followers=followers,
            link_readers=link_readers,
            sandboxes=sandboxes,
            start_worker=start_worker,
            titles=titles,
            spending=spending,
            refused_sign_ins=RefusedSignIns(database, background),
            mcp_for_programs=ServedTools(background, instructions=FOR_PROGRAMS),
            mcp_for_agents=ServedTools(background, instructions=FOR_AGENTS),
            mcp_exchanges=Exchanges(),
            mcp_grants=Grants(database, cipher),
            mcp_sign_ins=mcp_sign_ins,
            egress=egress,
            git_work_of=git_work_of,
            llm_caller_of=llm_caller_of,
            program_of=program_of,
            folder_of=folder_of,
            exposed_urls=exposed_urls,
            agent_server_key=agent_server_key,
            works_in=works_in,
            attribution_of=attribution_of,
            owner_of_conversation=owner_of_conversation,
            git_tokens=git_tokens,
            git_moves=Moves(),
            git_rate_limits=triggers.limits,
            suggested_tasks=SuggestedTasks(),
            receiving_deliveries=Receiving(database, cipher),
            fairness=Fairness(),
            open_streams=OpenStreams(),
            users_with_address=users_with_address,
            model_call_capacity=CallCapacity(config.llm_calls_per_sandbox, config.llm_calls_per_user),
        )


def _client_options() -> dict[str, Any]:
    # No limit on connections: a model's replies may occupy many for minutes.
    # No cookies: a cookie that a vendor sets for one user would also be sent for the next user.
    return {
        "timeout": 30,
        "verify": public_authorities(),
        "limits": httpx.Limits(max_connections=None),
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
    }


async def _make_demo(config: Config) -> None:
    try:
        await asyncio.to_thread(demo.make_repository, config.home)
    except (OSError, subprocess.SubprocessError):
        logger.exception("the demo repository cannot be made; is git installed?")


async def _open_jobs(
    config: Config,
    database: Database,
    pubsub: PubSub,
    deliveries: Deliveries,
    revocations: Revocations,
    triggers: Setting,
    sandboxes: Sandboxes,
    start_worker: StartWorker,
    audit_stream: StreamDelivery,
    stack: AsyncExitStack,
) -> Jobs:
    """Registers one function for each kind of background job, and starts the worker that calls these
    functions. Returns this worker.

    The functions use the other parameters. `deliveries`: delivers events for callbacks. `revocations`:
    revokes tokens at git hosts. `triggers`: the shared objects of the jobs for triggers. `audit_stream`:
    sends the audit log to another system. `stack`: receives a callback that stops the worker when the server
    ends.
    """
    jobs = Jobs(database, pubsub)
    jobs.schedule(TRIM_KIND, trimmer(database, config.audit_retention_days, unsent_after), TRIM_EVERY)
    jobs.schedule(audit_delivery.KIND, audit_stream.run, audit_delivery.EVERY, audit_delivery.POLICY)
    jobs.schedule(throttle.TIDY_KIND, throttle.tidier(database), throttle.TIDY_EVERY)
    jobs.register(DELIVER_KIND, deliveries.deliver, DELIVERY_POLICY)
    jobs.register(INVITATION_KIND, invitation_delivery.sender(database, config), invitation_delivery.POLICY)
    jobs.register(REVOCATION_KIND, revocations.revoke, REVOCATION_POLICY)
    jobs.register(DELETE_PERSON_KIND, deleter(database, sandboxes), DELETE_PERSON_POLICY)
    jobs.schedule(FORGET_KIND, deliveries.forget_old, FORGET_EVERY)
    of_hosts = Handling(triggers)
    jobs.register(HANDLE_KIND, of_hosts.handle, handling.POLICY, on_dead=of_hosts.give_up)
    jobs.register(HELD_KIND, releaser(database), handling.POLICY, on_dead=of_hosts.give_up)
    jobs.register(PROGRESS_KIND, TriggerProgress(triggers).follow, progress.POLICY)
    jobs.schedule(retention.KIND, retention.forgetter(database), retention.EVERY)
    keep = retainer(database, pubsub, sandboxes, start_worker.wake)
    jobs.schedule(RETAIN_KIND, keep, RETAIN_EVERY)
    check_skills = update_check.checker(database, config)
    jobs.schedule(update_check.KIND, check_skills, update_check.EVERY, update_check.POLICY)
    await jobs.open()
    stack.push_async_callback(jobs.close)
    return jobs


async def _open_database(config: Config, stack: AsyncExitStack) -> Database:
    require_complete_home(config.home)
    if config.database_file:
        # Created here to set its mode, which SQLite also gives to the files beside it.
        config.database_file.touch(mode=0o600)
    database = Database(config.resolved_database_url)
    stack.push_async_callback(database.close)
    await migrate(database)
    await _make_owner(database)
    return database


async def _make_owner(database: Database) -> None:
    async with database.read() as session:
        if await find_owner(session) is not None:
            return
    async with database.session() as session:
        # If several servers start for the first time at once, one creates the owner and the others find it.
        await wait_for_other_servers(await session.connection())
        if await find_owner(session) is None:
            owner = await create_user(session, name="Owner", role=Role.OWNER)
            await add_first_profiles(session, owner.id)

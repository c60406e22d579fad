"""Routes for the pull requests of a conversation."""

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Query, Request

from agent_runtime.events.content import TextContent
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.conversations import service as conversations
from app_server.conversations.message_schemas import SendMessageRequest
from app_server.conversations.routes.dependencies import (
    OwnedConversation,
    OwnedWorkplace,
    SeenConversation,
    Viewer,
)
from app_server.core.database import ServerDatabase
from app_server.core.errors import AppError, Conflict
from app_server.core.server_objects import ServerConfig
from app_server.git_hosts.connection import all_at_once
from app_server.git_hosts.protocol import GitHostClient
from app_server.git_hosts.routes import CurrentGitHosts
from app_server.git_hosts.schemas import CheckState, NewPullRequest, PullRequestChanges, ReviewVerdict
from app_server.pull_requests import messages, refresh, service, working_tree
from app_server.pull_requests.models import ConversationPullRequest
from app_server.pull_requests.opening import open_pull_request
from app_server.pull_requests.proposing import link_to, proposal_of
from app_server.pull_requests.repository_of import repository_of
from app_server.pull_requests.review_replies import ask
from app_server.pull_requests.schemas import (
    AgentAsked,
    ChangePullRequest,
    CreatedPullRequest,
    CreatePullRequest,
    PullRequestInfo,
    PullRequestProposal,
)
from app_server.pull_requests.screenshots import ChosenScreenshots, chosen_of
from app_server.pull_requests.template import template_of
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/pull-requests", tags=["Pull requests"])

MAX_CHECKS_WITH_LOGS = 5


async def _pull_request(
    database: ServerDatabase, conversation: OwnedConversation, pull_request_id: UUID
) -> ConversationPullRequest:
    async with database.read() as session:
        return await service.require(session, conversation.id, pull_request_id)


OwnedPullRequest = Annotated[ConversationPullRequest, Depends(_pull_request)]


async def _client(
    hosts: CurrentGitHosts, database: ServerDatabase, pull_request: OwnedPullRequest
) -> GitHostClient:
    # A session that ends before the host is asked: hosts may take seconds.
    async with database.read() as session:
        return (await hosts.at(session, pull_request.origin)).client


Client = Annotated[GitHostClient, Depends(_client)]
"""The client for the git host of the pull request whose id is in the path of the request."""


@router.get("")
async def list_pull_requests(
    principal: CurrentPrincipal,
    hosts: CurrentGitHosts,
    conversation: SeenConversation,
    database: ServerDatabase,
) -> list[PullRequestInfo]:
    """Returns the pull requests of the conversation, the newest first. If the owner of the conversation sends
    the request, open pull requests whose stored state is older than 20 s are first updated from the git host.
    """
    async with database.read() as session:
        rows = await service.rows_of(session, conversation.id)
    if conversation.user_id == principal.user.id:
        # With a key that may only read, no answers are written at the host.
        answers = principal.may(Permission.WORK)
        stale = [row.id for row in rows if refresh.is_stale(row)]
        await all_at_once(refresh.refresh(database, hosts, each, answers=answers) for each in stale)
    async with database.read() as session:
        return [PullRequestInfo.of(row) for row in await service.rows_of(session, conversation.id)]


@router.get("/proposal")
async def propose_pull_request(
    hosts: CurrentGitHosts,
    conversation: OwnedConversation,
    workplace: OwnedWorkplace,
    database: ServerDatabase,
    config: ServerConfig,
    repository: Annotated[str | None, Query(min_length=1, max_length=2000)] = None,
) -> PullRequestProposal:
    """Returns a draft of a pull request: title, text and branches, made from the commits and events of the
    conversation. Creates nothing at the git host. repository: the directory, name or URL of one of the
    conversation's repositories; if it is missing, the first one is used.

    400 `repository_not_in_conversation` if `repository` matches no repository of the conversation.
    """
    async with database.read() as session:
        hosted = await repository_of(session, hosts, conversation, repository)
    tree = await working_tree.look_at(hosted.own_workplace(workplace))
    template = await template_of(hosted.own_workplace(workplace), hosted.host.provider)
    return await proposal_of(database, config.base_url, hosted, conversation, tree, template)


@router.post("", status_code=201)
async def create_pull_request(
    user: CurrentUser,
    trail: CurrentTrail,
    hosts: CurrentGitHosts,
    conversation: OwnedConversation,
    viewer: Viewer,
    body: CreatePullRequest,
    database: ServerDatabase,
    config: ServerConfig,
) -> CreatedPullRequest:
    """Opens a pull request with the user's token. Before that, commits uncommitted changes in the sandbox and
    pushes the commits. The sandbox must run. If the branch already has an open pull request, returns this
    pull request and does not change its text.

    409 `git_failed` with git's message if the push is refused. 409 `too_many_pull_requests` if the user's
    agents have too many open pull requests in the repository. 400 `repository_not_in_conversation` if the
    conversation does not have the repository. 400 `screenshot_not_found` if one of the chosen screenshots
    does not exist.
    """
    async with database.read() as session:
        repository = await repository_of(session, hosts, conversation, body.repository)
        events = await service.latest_events(session, conversation.id) if body.screenshots else []
    link = link_to(config.base_url, conversation)
    shots = ChosenScreenshots(chosen_of(events, body.screenshots), link)
    client = repository.host.client
    new = NewPullRequest(
        title=body.title,
        body=shots.in_new(client, body.body),
        head=body.head,
        base=body.base,
        is_draft=body.draft,
        labels=tuple(body.labels),
        reviewers=tuple(body.reviewers),
    )
    async with database.read() as session:
        await service.check_new(session, user.id, repository, new)
        workplace = await conversations.workplace(session, viewer, user.id, conversation.id)
    await working_tree.push(repository.own_workplace(workplace), body.head, body.title)
    row, opened = await open_pull_request(database, conversation, repository, new, trail)
    left_out = [*opened.left_out, *await shots.in_opened(client, repository.name, opened, body.body)]
    return CreatedPullRequest(pull_request=PullRequestInfo.of(row), is_new=opened.is_new, left_out=left_out)


@router.post("/{pull_request_id}/refresh")
async def refresh_pull_request(
    hosts: CurrentGitHosts, pull_request: OwnedPullRequest, request: Request
) -> PullRequestInfo:
    """Requests the current state of the pull request from the git host, stores it, and returns the pull
    request.
    """
    return await _refreshed(request, hosts, pull_request)


@router.patch("/{pull_request_id}")
async def change_pull_request(
    client: Client,
    hosts: CurrentGitHosts,
    pull_request: OwnedPullRequest,
    body: ChangePullRequest,
    request: Request,
) -> PullRequestInfo:
    """Changes the title, the text or the draft state of the pull request at the git host. Returns the changed
    pull request.
    """
    changes = PullRequestChanges(title=body.title, body=body.body, is_draft=body.draft)
    await client.update_pull_request(pull_request.repository, pull_request.number, changes)
    return await _refreshed(request, hosts, pull_request)


@router.post("/{pull_request_id}/address-review")
async def address_review(
    user: CurrentUser,
    client: Client,
    hosts: CurrentGitHosts,
    viewer: Viewer,
    pull_request: OwnedPullRequest,
    database: ServerDatabase,
    request: Request,
) -> AgentAsked:
    """Sends the unresolved review comments to the agent as one message. Slipway replies to each review thread
    after the branch has a new commit. Returns the number of review threads and reviews in the message.

    409 `nothing_to_address` if there is no unresolved thread and no review that requests changes.
    """
    if pull_request.asked_threads:
        # Commits since the earlier request belong to its threads only, so their replies come first.
        await refresh.refresh(database, hosts, pull_request.id)
    found = await client.pull_request(pull_request.repository, pull_request.number)
    threads = await client.review_threads(pull_request.repository, pull_request.number)
    reviews = await client.reviews(pull_request.repository, pull_request.number)
    unresolved = [thread for thread in threads if not thread.is_resolved and thread.comments]
    wanting = [one for one in reviews if one.verdict is ReviewVerdict.CHANGES_REQUESTED and one.body]
    if not unresolved and not wanting:
        raise Conflict("No review comment waits for an answer.", code="nothing_to_address")
    message_id = await _send(
        request, viewer, user, pull_request, messages.about_review(pull_request, unresolved, wanting)
    )
    async with database.session() as session:
        row = await session.get_one(ConversationPullRequest, pull_request.id, with_for_update=True)
        ask(row, [thread.id for thread in unresolved[: messages.MAX_THREADS]], found.head_commit)
    return AgentAsked(message_id=message_id, count=len(unresolved) + len(wanting))


@router.post("/{pull_request_id}/fix-checks")
async def fix_checks(
    user: CurrentUser,
    client: Client,
    viewer: Viewer,
    pull_request: OwnedPullRequest,
    request: Request,
) -> AgentAsked:
    """Sends the failing checks to the agent as one message, with the end of each check's log, so that the
    agent corrects the code. Returns the number of checks. 409 `nothing_to_address` if no check fails.
    """
    found = await client.pull_request(pull_request.repository, pull_request.number)
    checks = await client.checks(pull_request.repository, found)
    failing = [check for check in checks if check.state is CheckState.FAILED]
    if not failing:
        raise Conflict("No check fails.", code="nothing_to_address")
    with_logs = [
        (check, await _log_of(client, pull_request.repository, check.id))
        for check in failing[:MAX_CHECKS_WITH_LOGS]
    ]
    text = messages.about_checks(pull_request, with_logs)
    message_id = await _send(request, viewer, user, pull_request, text)
    return AgentAsked(message_id=message_id, count=len(failing))


async def _log_of(client: GitHostClient, repository: str, check_id: str | None) -> str:
    if check_id is None:
        return ""
    try:
        return await client.check_log(repository, check_id)
    except AppError as error:
        # The message is useful without the log, too: the agent can run the check in the sandbox.
        return f"(The log could not be read: {error.detail})"


async def _send(
    request: Request, viewer: Viewer, user: User, pull_request: ConversationPullRequest, text: str
) -> str:
    message = SendMessageRequest(id=uuid4().hex, content=[TextContent(text=text)])
    state = request.state
    reply = await conversations.send_message(
        state.database,
        viewer,
        user,
        pull_request.conversation_id,
        message,
        max_bytes=state.config.max_message_bytes,
    )
    if reply.message is not None:
        state.start_worker.wake()
    return str(message.id)


async def _refreshed(
    request: Request, hosts: CurrentGitHosts, pull_request: ConversationPullRequest
) -> PullRequestInfo:
    database = request.state.database
    await refresh.refresh(database, hosts, pull_request.id)
    async with database.read() as session:
        return PullRequestInfo.of(await session.get_one(ConversationPullRequest, pull_request.id))

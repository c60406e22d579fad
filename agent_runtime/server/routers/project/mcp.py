"""Routes that test MCP servers before a client adds them, and that sign in to MCP servers."""

from typing import Annotated

from fastapi import Depends, Request

from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.mcp_probes import SignIns, probe
from agent_runtime.server.routers.router import Router
from agent_runtime.tools.mcp.oauth import CallbackError
from agent_runtime.wire import (
    McpOAuthCallback,
    McpOAuthStarted,
    McpOAuthStatus,
    McpTestRequest,
    McpTestResult,
)

router = Router(prefix="/api/mcp", tags=["mcp"])


async def _sign_ins(request: Request) -> SignIns:
    sign_ins: SignIns = request.app.state.mcp_sign_ins
    return sign_ins


All = Annotated[SignIns, Depends(_sign_ins)]


@router.post("/test")
async def test(wanted: McpTestRequest, request: Request) -> McpTestResult:
    """Connects to an MCP server and returns the list of its tools. The status is 200 even if the MCP server
    cannot be reached; the reply then contains the reason.
    """
    return await probe(wanted, request.app.state.config.workspace_path)


@router.post("/oauth/start")
async def start(wanted: McpTestRequest, sign_ins: All) -> McpOAuthStarted:
    """Begins an OAuth sign-in to an MCP server. The reply contains `authorization_url`, which the client then
    opens in the user's browser.
    """
    status = await sign_ins.start(wanted)
    return McpOAuthStarted(
        ok=status.ok,
        job_id=status.job_id,
        authorization_url=status.authorization_url,
        error=status.error,
        error_kind=status.error_kind,
    )


@router.get("/oauth/status/{job_id}", responses={404: {"description": "There is no such sign-in"}})
async def status(job_id: str, sign_ins: All) -> McpOAuthStatus:
    """Returns the progress of a sign-in to an MCP server.

    After success the client stores `oauth_state` in the MCP server's configuration, as `auth.state`.
    """
    if (job := sign_ins.get(job_id)) is None:
        raise _no_job()
    return job.status()


@router.post(
    "/oauth/callback/{job_id}",
    responses={
        404: {"description": "There is no such sign-in"},
        400: {"description": "No code in the address"},
    },
)
async def callback(job_id: str, answer: McpOAuthCallback, sign_ins: All) -> McpOAuthStatus:
    """Completes the OAuth sign-in to an MCP server. The client sends the URL to which the authorization
    server has redirected the user's browser.
    """
    if (job := sign_ins.get(job_id)) is None:
        raise _no_job()
    try:
        job.sign_in.answer(answer.callback_url)
    except CallbackError as error:
        raise ServerProblem(400, "sign_in_refused", str(error)) from error
    return job.status()


def _no_job() -> ServerProblem:
    return ServerProblem(404, "sign_in_not_found", "There is no such sign-in.", "Start it again.")

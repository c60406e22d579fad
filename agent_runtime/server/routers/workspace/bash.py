"""Routes that run commands in the workspace for clients of the agent server."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Body, Depends, Query, Request

from agent_runtime.server.bash.events import BashEventPage, BashEventSortOrder, Filter
from agent_runtime.server.bash.service import BashService
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.moments import ZonedMoment
from agent_runtime.server.routers.router import Router
from agent_runtime.wire import BashCommand, BashOutput, ExecuteBashRequest

router = Router(prefix="/api/bash", tags=["Bash"])


def get_bash_service(request: Request) -> BashService:
    service: BashService = request.app.state.bash_service
    return service


Bash = Annotated[BashService, Depends(get_bash_service)]


def event_filter(
    kind: Annotated[Literal["BashCommand", "BashOutput"] | None, Query(alias="kind__eq")] = None,
    command_id: Annotated[UUID | None, Query(alias="command_id__eq")] = None,
    since: Annotated[ZonedMoment | None, Query(alias="timestamp__gte")] = None,
    before: Annotated[ZonedMoment | None, Query(alias="timestamp__lt")] = None,
    order_above: Annotated[int | None, Query(alias="order__gt")] = None,
) -> Filter:
    def matches(event: BashCommand | BashOutput) -> bool:
        of_command = event.command_id if isinstance(event, BashOutput) else event.id
        return (
            (kind is None or event.kind == kind)
            and (command_id is None or of_command == command_id.hex)
            and (since is None or event.timestamp >= since)
            and (before is None or event.timestamp < before)
            and (order_above is None or (isinstance(event, BashOutput) and event.order > order_above))
        )

    return matches


@router.post("/start_bash_command")
async def start_bash_command(command: ExecuteBashRequest, bash: Bash) -> BashCommand:
    """Starts a command and returns at once. GET /api/bash/bash_events/search returns the command's output."""
    return await bash.start(command)


@router.post("/execute_bash_command")
async def execute_bash_command(command: ExecuteBashRequest, bash: Bash) -> BashOutput:
    """Runs a command and waits for its end. `exit_code` is -1 if the command was ended after `timeout`
    seconds.
    """
    return await bash.execute(command)


@router.post("/bash_commands/{command_id}/stop")
async def stop_bash_command(command_id: UUID, bash: Bash) -> dict[str, bool]:
    """Stops a command. The request also succeeds if the command has already ended. The reply is 404 if the id
    is unknown.
    """
    was_running = await bash.stop(command_id.hex)
    if not was_running and bash.events.get(command_id.hex) is None:
        raise ServerProblem(404, "not_found", "No such command is known.")
    return {"success": True}


@router.get("/bash_events/search")
async def search_bash_events(
    bash: Bash,
    matches: Annotated[Filter, Depends(event_filter)],
    sort_order: BashEventSortOrder = BashEventSortOrder.TIMESTAMP,
    page_id: str | None = None,
    limit: Annotated[int, Query(gt=0, le=100)] = 100,
) -> BashEventPage:
    return bash.events.search(matches, sort_order=sort_order, page_id=page_id, limit=limit)


@router.get("/bash_events/{event_id}")
async def get_bash_event(event_id: UUID, bash: Bash) -> BashCommand | BashOutput:
    if event := bash.events.get(event_id.hex):
        return event
    raise ServerProblem(404, "not_found", "There is no such event, or it has made room for newer ones.")


@router.get("/bash_events/")
async def get_bash_events(
    event_ids: Annotated[list[UUID], Body()], bash: Bash
) -> list[BashCommand | BashOutput | None]:
    return [bash.events.get(event_id.hex) for event_id in event_ids]


@router.delete("/bash_events")
async def clear_bash_events(bash: Bash) -> dict[str, int]:
    return {"cleared_count": bash.events.clear()}

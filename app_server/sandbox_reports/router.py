"""The HTTP routes with which agent servers in sandboxes report the events of conversations to the app server.
The routes are available only on the inner listener (the app server's port for sandboxes).
"""

from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import ValidationError

from app_server.conversations.log.ingest import ingest
from app_server.conversations.view import Viewer
from app_server.core.errors import invalid_body
from app_server.events.schemas import Acknowledged, EventsReport
from app_server.sandboxes.auth import CurrentSandbox

router = APIRouter(prefix="/api/v1/webhooks", tags=["Webhooks"])


@router.post("/events/{conversation_id}")
async def report_events(request: Request, sandbox: CurrentSandbox, conversation_id: UUID) -> Acknowledged:
    """Stores events of a conversation that the agent server in a sandbox reports. The request body is an
    EventsReport. The reply contains the position of the last stored event.

    The request can be repeated: events that are already stored are skipped. If events before the first
    reported event are missing, the reply is 409 `seq_gap` with the position of the last stored event.
    """
    state = request.state
    async with state.fairness.reading(sandbox.id):
        body = await request.body()
        async with state.fairness.turn(sandbox.id):
            report = _decoded(body)
    viewer = Viewer(state.sandboxes)
    last = await ingest(state.database, state.pubsub, viewer, sandbox.id, conversation_id, report)
    return Acknowledged(acknowledged_seq=last)


def _decoded(body: bytes) -> EventsReport:
    try:
        return EventsReport.model_validate_json(body)
    except ValidationError as error:
        raise invalid_body(error) from None

"""What sandboxes tell us. Served on the inner listener only."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Request

from app_server.conversations.ingest import ingest
from app_server.conversations.view import Viewer
from app_server.events.schemas import Acknowledged, EventsReport
from app_server.sandboxes.auth import CurrentSandbox

router = APIRouter(prefix="/api/v1/webhooks", tags=["Webhooks"])


@router.post("/events/{conversation_id}")
async def report_events(
    request: Request,
    sandbox: CurrentSandbox,
    conversation_id: UUID,
    report: Annotated[EventsReport, Body()],
) -> Acknowledged:
    """Idempotent: known positions are skipped. 409 `seq_gap` says from where to go on."""
    state = request.state
    viewer = Viewer(state.sandboxes)
    last = await ingest(state.database, state.pubsub, viewer, sandbox.id, conversation_id, report)
    return Acknowledged(acknowledged_seq=last)

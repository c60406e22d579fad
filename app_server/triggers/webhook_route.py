"""The route that receives webhook deliveries of git hosts. It needs no sign-in, because each delivery must
have a valid signature before Slipway reads its content.
"""

from uuid import UUID

from fastapi import APIRouter, Request, Response

from app_server.triggers import service
from app_server.triggers.receiving import ServerReceiving

router = APIRouter(prefix=service.ROOT, tags=["Triggers"])


@router.post("/{hook_id}", status_code=202)
async def receive_git_webhook(hook_id: UUID, receiving: ServerReceiving, request: Request) -> Response:
    """Accepts a webhook delivery of a git host for the trigger with this id. Needs no sign-in: the delivery
    must be signed with the trigger's secret. Slipway handles the delivery later, and only once, even if the
    host sends it again.

    401 `webhook_signature_wrong`; 404; 400 `webhook_not_json`, `webhook_unreadable`; 413.
    """
    body = await request.body()
    status = await receiving.receive(hook_id, request.headers, body)
    return Response(status_code=status)

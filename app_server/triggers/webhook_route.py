"""The route that receives webhooks of git hosts. It needs no sign-in. The signature of each delivery is
verified before the delivery is read.
"""

from uuid import UUID

from fastapi import APIRouter, Request, Response

from app_server.triggers import service
from app_server.triggers.receiving import ServerReceiving

router = APIRouter(prefix=service.ROOT, tags=["Triggers"])


@router.post("/{hook_id}", status_code=202)
async def receive_git_webhook(hook_id: UUID, receiving: ServerReceiving, request: Request) -> Response:
    """Accepts a delivery of a git host for the trigger with this id. It needs no sign-in: the delivery must
    be signed with the trigger's secret. It is handled later, and only once, even if the host repeats it.

    401 `webhook_signature_wrong`; 404; 400 `webhook_not_json`, `webhook_unreadable`; 413.
    """
    body = await request.body()
    status = await receiving.receive(hook_id, request.headers, body)
    return Response(status_code=status)

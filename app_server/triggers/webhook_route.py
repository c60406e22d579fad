"""The route that receives the webhooks of git hosts. The route needs no sign-in; the signature of each
webhook delivery is verified before the delivery is parsed.
"""

from uuid import UUID

from fastapi import APIRouter, Request, Response

from app_server.triggers import service
from app_server.triggers.receiving import ServerReceiving

router = APIRouter(prefix=service.ROOT, tags=["Triggers"])


@router.post("/{hook_id}", status_code=202)
async def receive_git_webhook(hook_id: UUID, receiving: ServerReceiving, request: Request) -> Response:
    """Accepts a webhook delivery of a git host for the trigger with the id `hook_id`. Needs no sign-in, but
    the delivery must be signed with the trigger's secret. The delivery is handled later. It is handled only
    once, even if the git host sends it several times.

    401 `webhook_signature_wrong`; 404; 400 `webhook_not_json`, `webhook_unreadable`; 413.
    """
    body = await request.body()
    status = await receiving.receive(hook_id, request.headers, body)
    return Response(status_code=status)

"""The route that receives the webhook deliveries of git hosts. It needs no sign-in. Instead, the signature of
each delivery is verified before the delivery is parsed.
"""

from uuid import UUID

from fastapi import APIRouter, Request, Response

from app_server.triggers import service
from app_server.triggers.receiving import ServerReceiving

router = APIRouter(prefix=service.ROOT, tags=["Triggers"])


@router.post("/{hook_id}", status_code=202)
async def receive_git_webhook(hook_id: UUID, receiving: ServerReceiving, request: Request) -> Response:
    """Accepts a webhook delivery of a git host for the trigger with the id `hook_id`. A background job
    handles the delivery later. If the git host sends the same delivery several times, it is handled only
    once. No sign-in is needed, but the delivery must be signed with the trigger's secret.

    Errors: 400 `webhook_not_json` if the body is not JSON; 400 `webhook_too_large` if the body contains too
    many JSON values; 400 `webhook_unreadable` if the body has an unexpected form; 401
    `webhook_signature_wrong` if the signature is wrong; 404 if there is no such trigger; 413 if the body has
    too many bytes.
    """
    body = await request.body()
    status = await receiving.receive(hook_id, request.headers, body)
    return Response(status_code=status)

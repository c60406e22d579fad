"""Routes of the audit log, which only the owner and administrators may read."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from app_server.access.audit_schemas import AuditEntryInfo, as_csv, as_json_lines
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit import search
from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget
from app_server.audit.search import AuditFilter
from app_server.core.database import Database, Moment, ReadSession, ServerDatabase, now
from app_server.core.errors import BadRequest
from app_server.core.pagination import Limit, Page, PageId, decode_page_id, encode_page_id
from app_server.users.organisations import organisation_not_found

router = APIRouter(prefix="/api/v1/audit-log", tags=["Audit log"])

_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv"}
_MAX_DIGITS = 18


def _filter(
    user: CurrentUser,
    since: Moment | None = None,
    until: Moment | None = None,
    actor_id: UUID | None = None,
    action: Annotated[list[AuditAction] | None, Query(max_length=len(AuditAction))] = None,
    target_kind: AuditTarget | None = None,
    target_id: Annotated[str | None, Query(max_length=300)] = None,
    outcome: AuditOutcome | None = None,
    organisation_id: UUID | None = None,
) -> AuditFilter:
    # Administrators of the installation read all entries, the others those of their organisation.
    if not user.administers_installation:
        if organisation_id not in {None, user.organisation_id}:
            raise organisation_not_found()
        organisation_id = user.organisation_id
    return AuditFilter(
        since=since,
        until=until,
        actor_id=actor_id,
        actions=tuple(action or ()),
        target_kind=target_kind,
        target_id=target_id,
        outcome=outcome,
        organisation_id=organisation_id,
    )


Filter = Annotated[AuditFilter, Depends(_filter)]


@router.get("")
async def search_audit_log(
    wanted: Filter, session: ReadSession, page_id: PageId = None, limit: Limit = 50
) -> Page[AuditEntryInfo]:
    """Returns a page of audit log entries, newest first. An entry at the time `since` is included, an entry
    at the time `until` is not. A time without a zone is in UTC. Administrators of the installation get all
    entries. Other administrators get only the entries of their organisation. 400 `bad_page_id` if `page_id`
    is not valid. 404 `organisation_not_found` if the filter names an organisation whose entries the
    administrator may not read.
    """
    before = None if page_id is None else _position(page_id)
    entries, next_before = await search.search(session, wanted, before=before, limit=limit)
    return Page(
        items=[AuditEntryInfo.model_validate(one) for one in entries],
        next_page_id=None if next_before is None else encode_page_id(str(next_before)),
    )


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}, "text/csv": {}}}},
)
async def export_audit_log(
    wanted: Filter,
    trail: CurrentTrail,
    database: ServerDatabase,
    format: Literal["jsonl", "csv"] = "jsonl",  # noqa: A002
) -> StreamingResponse:
    """Returns all entries that match the filter as a file, oldest first. The export itself is recorded in the
    audit log.
    """
    async with database.session() as session:
        trail.record(
            session,
            AuditAction.AUDIT_LOG_EXPORTED,
            (AuditTarget.AUDIT_LOG, format),
            since=wanted.since,
            until=wanted.until,
            actor_id=wanted.actor_id,
            actions=wanted.actions or None,
        )
    lines = (as_csv if format == "csv" else as_json_lines)(_infos(database, wanted))
    name = f"audit-log-{now():%Y-%m-%d}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type=_TYPES[format], headers=headers)


async def _infos(database: Database, wanted: AuditFilter) -> AsyncIterator[AuditEntryInfo]:
    async for entry in search.every(database, wanted):
        yield AuditEntryInfo.model_validate(entry)


def _position(page_id: str) -> int:
    (text,) = decode_page_id(page_id, parts=1)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id")
    return int(text)

"""Routes by which administrators export and delete a person."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from app_server.access import people
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.access.people_schemas import Person
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations.start.worker import ServerStartWorker
from app_server.core.database import ReadSession, ServerDatabase
from app_server.core.pubsub import ServerPubSub
from app_server.departures.belongings import belongings_of
from app_server.departures.deletion import begin_deletion
from app_server.departures.export import person_zip
from app_server.departures.schemas import Belongings, DeletePerson
from app_server.events.stream import DELETED

router = APIRouter(prefix="/api/v1/people/{person_id}", tags=["People"])


@router.get("/belongings")
async def get_belongings(manager: CurrentUser, session: ReadSession, person_id: UUID) -> Belongings:
    """Returns how many conversations, model profiles and other belongings a person has. Administrators read
    this before they delete the person. 404 `person_not_found` if the person does not exist.
    """
    person = await people.find(session, person_id, manager.organisation_id)
    return await belongings_of(session, person.id)


@router.post("/deletion", status_code=202)
async def delete_person(
    manager: CurrentUser,
    trail: CurrentTrail,
    person_id: UUID,
    body: DeletePerson,
    start_worker: ServerStartWorker,
    database: ServerDatabase,
    pubsub: ServerPubSub,
) -> Person:
    """Begins to delete a person. The account is disabled at once, and the chosen belongings are given to
    another person (the heir) at once. A background job deletes the person's other belongings, and at the end
    the account.

    403 `role_not_manageable` if the administrator may not manage this person. 404 `person_not_found` if the
    person or the heir does not exist. 400 `heir_not_usable` if the heir is disabled or is the person to
    delete. 409 `person_being_deleted` if the deletion has already begun. 409 `conversations_starting` while
    conversations of the person are being started.
    """
    async with database.session() as session:
        person = await people.find(session, person_id, manager.organisation_id)
        deleted = await begin_deletion(session, trail, manager, person, body)
        shown = Person.model_validate(person)
    for each in deleted:
        pubsub.publish(each, [DELETED])
    start_worker.wake()
    return shown


@router.get("/export", response_class=StreamingResponse)
async def export_person(
    manager: CurrentUser, trail: CurrentTrail, person_id: UUID, database: ServerDatabase
) -> StreamingResponse:
    """Downloads everything that is stored about a person as a zip, without secrets: the account, settings,
    and the events of all conversations.

    403 `role_not_manageable` if the administrator may not manage this person. 404 `person_not_found` if the
    person does not exist.
    """
    async with database.session() as session:
        person = await people.find(session, person_id, manager.organisation_id)
        if person.id != manager.id:
            people.require_can_manage(manager, person.role)
        target = (AuditTarget.USER, person.id)
        trail.record(session, AuditAction.MEMBER_EXPORTED, target, name=person.name)
    headers = {"Content-Disposition": f'attachment; filename="{person.id.hex}.zip"'}
    chunks = person_zip(database, person)
    return StreamingResponse(chunks, media_type="application/zip", headers=headers)

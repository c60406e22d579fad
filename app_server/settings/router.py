"""Routes for LLM profiles: the profiles of the current user, and the profiles that administrators share with
all users of the organisation.
"""

from fastapi import APIRouter
from pydantic import SecretStr

from agent_runtime.catalogue.lookup import facts_of
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.encryption import ServerCipher
from app_server.settings import profile_lookup, profiles, sharing
from app_server.settings.models import LLMProfile
from app_server.settings.profile_views import model_facts, profile_info
from app_server.settings.protocol_llm import SaveProfile
from app_server.settings.schemas import (
    ChangedProfile,
    DeletedProfile,
    LLMProfileDetails,
    LLMProfiles,
    LLMSettings,
    ModelFacts,
    ModelName,
    ProfileNameInPath,
    RenameProfile,
)
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/settings/profiles", tags=["Settings"])
sharing_router = APIRouter(prefix="/api/v1/settings/shared-profiles", tags=["Settings"])
facts_router = APIRouter(prefix="/api/v1/settings/model-facts", tags=["Settings"])


@router.get("")
async def list_profiles(user: CurrentUser, session: ReadSession) -> LLMProfiles:
    active = await profile_lookup.active_profile(session, user.id)
    rows = await profile_lookup.list_profiles(session, user.id)
    return LLMProfiles(
        profiles=[profile_info(row, user.id) for row in rows],
        active_profile=active and active.name,
        callable_profiles=await profile_lookup.callable_names(session, user.id, rows),
    )


@router.get("/{name}")
async def get_profile(user: CurrentUser, session: ReadSession, name: ProfileNameInPath) -> LLMProfileDetails:
    info = profile_info(await profile_lookup.get_profile(session, user.id, name), user.id)
    config = info.model_dump(include=set(LLMSettings.model_fields)) | {"api_key": None}
    return LLMProfileDetails(**info.model_dump(), config=config)


@router.post("/{name}", status_code=201)
async def save_profile(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    name: ProfileNameInPath,
    cipher: ServerCipher,
    body: SaveProfile | None = None,
) -> ChangedProfile:
    """Adds a profile of the user. If the user already has a profile with this name, replaces its settings.
    Without a body, the settings of the active profile are copied. 403 `permission_missing` if the profile is
    shared and the API key lacks the scope `administer`.
    """
    user = principal.user
    await sharing.require_may_change(session, principal, name)
    body = body or SaveProfile()
    given, source = body.llm and body.llm.settings(), None
    if given is None:
        source = await profile_lookup.active_profile(session, user.id)
    llm = given or await profile_lookup.settings_in_use(session, cipher, user.id)
    if not body.include_secrets:
        without: dict[str, object] = {"api_key": None, "extra_headers": None}
        if not body.preserve_existing_api_key:
            without = {"api_key": SecretStr(""), "extra_headers": {}}
        llm = llm.model_copy(update=without)
    row = await profiles.save_profile(session, cipher, user.id, name, llm, address_of=source)
    trail.record(
        session,
        AuditAction.PROFILE_CHANGED,
        (AuditTarget.PROFILE, name),
        change="saved",
        model=row.model,
        has_new_key=bool(llm.api_key and llm.api_key.get_secret_value()),
    )
    return _changed(row, user, "saved")


@router.delete("/{name}")
async def delete_profile(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, name: ProfileNameInPath
) -> DeletedProfile:
    """Deletes a profile of the user. 403 `permission_missing` if the profile is shared and the API key lacks
    the scope `administer`.
    """
    await sharing.require_may_change(session, principal, name)
    await profiles.delete_profile(session, principal.user.id, name)
    trail.record(session, AuditAction.PROFILE_DELETED, (AuditTarget.PROFILE, name))
    return DeletedProfile(name=name, message=f"The profile {name} is deleted.")


@router.post("/{name}/activate")
async def activate_profile(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: ProfileNameInPath
) -> ChangedProfile:
    """Makes a profile the user's active profile, which new conversations use by default. It may be the user's
    own profile or a shared one.
    """
    row = await profiles.activate_profile(session, user.id, name)
    trail.record(session, AuditAction.PROFILE_CHANGED, (AuditTarget.PROFILE, name), change="activated")
    return _changed(row, user, "in use")


@router.post("/{name}/rename")
async def rename_profile(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    name: ProfileNameInPath,
    body: RenameProfile,
) -> ChangedProfile:
    """Renames a profile of the user. 403 `permission_missing` if the profile is shared and the API key lacks
    the scope `administer`.
    """
    user = principal.user
    await sharing.require_may_change(session, principal, name)
    row = await profiles.rename_profile(session, user.id, name, body.new_name)
    target = (AuditTarget.PROFILE, name)
    trail.record(session, AuditAction.PROFILE_CHANGED, target, change="renamed", new_name=body.new_name)
    return _changed(row, user, "renamed")


@sharing_router.put("/{name}")
async def share_profile(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: ProfileNameInPath
) -> ChangedProfile:
    """Shares one of the administrator's own profiles with all users of the organisation. The users do not see
    the profile's API key. The cost of a model call is added to the spending of the user who makes the call.

    Errors: 404 `llm_profile_not_found` if the administrator has no profile with this name; 409
    `shared_profile_exists` if another shared profile has this name.
    """
    row = await sharing.share_profile(session, user, name)
    trail.record(session, AuditAction.PROFILE_SHARED, (AuditTarget.PROFILE, name), model=row.model)
    return _changed(row, user, "shared")


@sharing_router.delete("/{name}")
async def stop_sharing_profile(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: ProfileNameInPath
) -> ChangedProfile:
    """Stops sharing a profile. If another user's conversation uses this profile, the conversation stops at
    its next model call.

    Errors: 404 `llm_profile_not_found` if no shared profile has this name; 409 `llm_profile_enforced` if the
    organisation or a team enforces the profile for its users.
    """
    row = await sharing.stop_sharing_profile(session, user.organisation_id, name)
    trail.record(session, AuditAction.PROFILE_UNSHARED, (AuditTarget.PROFILE, name))
    return _changed(row, user, "not shared any more")


@facts_router.get("")
async def get_model_facts(_user: CurrentUser, model: ModelName) -> ModelFacts:
    """Returns the data of the model catalogue about a model, such as its context window and prices. The user
    does not need a profile with this model.
    """
    return model_facts(facts_of(model))


def _changed(row: LLMProfile, user: User, became: str) -> ChangedProfile:
    return ChangedProfile(
        **profile_info(row, user.id).model_dump(), message=f"The profile {row.name} is {became}."
    )

"""Routes for the user's model profiles (saved model settings with a name), on an agent server that runs
without an app server.
"""

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel, Field, SecretStr, ValidationError

from agent_runtime.events.base import JsonObject
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import Prompt
from agent_runtime.server.errors import ServerProblem, invalid
from agent_runtime.server.routers.router import Router
from agent_runtime.server.saved.encrypted_settings import EncryptedSettings, merged
from agent_runtime.server.saved.secret_exposure import Exposure, Saved, decrypted, is_masked

router = Router(
    prefix="/api/profiles",
    tags=["profiles"],
    responses={409: {"description": "It exists already, or there is no key to encrypt it with"}},
)

MAX_PROFILES = 100
VALIDATE_SECONDS = 15
_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_PING = b'{"role":"user","content":"ping"}'

Name = Annotated[str, Path(pattern=_PATTERN)]


class ProfileInfo(BaseModel):
    name: str
    model: str | None = None
    base_url: str | None = None
    provider_connection_id: str | None = None
    provider_connection_broken: bool = False
    api_key_set: bool = False


class ProfileList(BaseModel):
    profiles: list[ProfileInfo]
    active_profile: str | None = None


class ProfileDetail(BaseModel):
    name: str
    config: JsonObject
    api_key_set: bool = False


class SaveProfileRequest(BaseModel):
    llm: JsonObject
    include_secrets: bool = True


class RenameProfileRequest(BaseModel):
    new_name: str = Field(pattern=_PATTERN)


class ProfileChanged(BaseModel):
    name: str
    message: str


class ProfileActivated(ProfileChanged):
    llm_applied: bool = True


class ValidateProfileRequest(BaseModel):
    llm: JsonObject


class ValidateProfileError(BaseModel):
    type: str
    message: str


class ValidateProfileResponse(BaseModel):
    valid: bool
    error: ValidateProfileError | None = None


async def _client(request: Request) -> LLMClient:
    client: LLMClient = request.app.state.llm_client
    return client


@router.get("")
async def list_profiles(store: Saved) -> ProfileList:
    saved = store.saved
    return ProfileList(
        profiles=[
            ProfileInfo(
                name=name,
                model=llm.get("model"),
                base_url=llm.get("base_url"),
                api_key_set=bool(llm.get("api_key")),
            )
            for name, llm in sorted(saved.profiles.items())
        ],
        active_profile=saved.active_profile,
    )


@router.get("/{name}")
async def get_profile(name: Name, store: Saved, expose: Exposure) -> ProfileDetail:
    """Returns a model profile (saved model settings with a name). The API key in the reply is null unless the
    header `X-Expose-Secrets` asks for the key.
    """
    llm = profile_of(store, name)
    shown = expose(llm)
    config = {**shown, "api_key": None} if is_masked(shown.get("api_key")) else shown
    return ProfileDetail(name=name, config=config, api_key_set=bool(llm.get("api_key")))


@router.post("/{name}", status_code=201)
async def save_profile(name: Name, wanted: SaveProfileRequest, store: Saved) -> ProfileChanged:
    """Saves a model profile (model settings with a name), or replaces the profile with the same name. Replies
    of this server can contain a mask in place of secrets. If the request contains this mask, the saved secret
    stays unchanged.
    """
    profiles = store.saved.profiles
    if name not in profiles and len(profiles) >= MAX_PROFILES:
        raise ServerProblem(409, "too_many_profiles", f"There are {MAX_PROFILES} profiles already.")
    before = profiles.get(name, {})
    unchanged = {key: value for key, value in before.items() if is_masked(wanted.llm.get(key))}
    llm = merged(unchanged, decrypted(store, wanted.llm), is_kept=is_masked)
    if not wanted.include_secrets:
        llm = {key: value for key, value in llm.items() if not _is_secret(key)}
    checked(llm)
    store.change(profiles={**profiles, name: llm})
    return ProfileChanged(name=name, message=f"Profile '{name}' saved")


@router.delete("/{name}")
async def delete_profile(name: Name, store: Saved) -> ProfileChanged:
    """Deletes a model profile (saved model settings with a name). The request also succeeds if the profile
    does not exist.
    """
    saved = store.saved
    others = {key: value for key, value in saved.profiles.items() if key != name}
    store.change(
        profiles=others, active_profile=None if saved.active_profile == name else saved.active_profile
    )
    return ProfileChanged(name=name, message=f"Profile '{name}' deleted")


@router.post("/{name}/rename")
async def rename_profile(name: Name, wanted: RenameProfileRequest, store: Saved) -> ProfileChanged:
    saved = store.saved
    llm = profile_of(store, name)
    if wanted.new_name != name:
        if wanted.new_name in saved.profiles:
            raise ServerProblem(409, "profile_exists", f"There is a profile {wanted.new_name} already.")
        others = {key: value for key, value in saved.profiles.items() if key != name}
        active = wanted.new_name if saved.active_profile == name else saved.active_profile
        store.change(profiles={**others, wanted.new_name: llm}, active_profile=active)
    return ProfileChanged(name=wanted.new_name, message=f"Profile '{name}' renamed to '{wanted.new_name}'")


@router.post("/{name}/activate")
async def activate_profile(name: Name, store: Saved) -> ProfileActivated:
    """Makes a model profile (saved model settings with a name) the active one: stores the model of the
    profile in the user's saved agent settings.
    """
    activate(store, name)
    return ProfileActivated(name=name, message=f"Profile '{name}' activated")


@router.post("/{name}/validate")
async def validate_profile(
    name: Name,
    wanted: ValidateProfileRequest,
    store: Saved,
    client: Annotated[LLMClient, Depends(_client)],
) -> ValidateProfileResponse:
    """Checks a model profile (saved model settings with a name) by a short call of its model. If the vendor
    replies that the rate limit is exceeded, the profile counts as valid, because its settings may be right.
    """
    before = store.saved.profiles.get(name, {})
    unchanged = {key: value for key, value in before.items() if is_masked(wanted.llm.get(key))}
    llm = checked(merged(unchanged, decrypted(store, wanted.llm), is_kept=is_masked))
    timeout = min(llm.timeout or VALIDATE_SECONDS, VALIDATE_SECONDS)
    probe = llm.model_copy(
        update={"num_retries": 0, "timeout": timeout, "stream": False, "max_output_tokens": 16}
    )
    try:
        await client.complete(probe, Prompt([_PING]))
    except LLMError as error:
        if error.is_retryable and error.kind == "rate_limit":
            return ValidateProfileResponse(valid=True)
        problem = ValidateProfileError(type=error.code, message=str(error))
        return ValidateProfileResponse(valid=False, error=problem)
    return ValidateProfileResponse(valid=True)


def activate(store: EncryptedSettings, name: str) -> None:
    """Stores the model of the model profile `name` (saved model settings with a name) in the user's saved
    agent settings, so that new agents use it. Raises ServerProblem 404 if the profile does not exist.
    """
    llm = profile_of(store, name)
    store.change(agent_settings={**store.saved.agent_settings, "llm": llm}, active_profile=name)


def checked(llm: JsonObject) -> LLM:
    """Validates model settings and returns them as an LLM object. Raises ServerProblem 422 if the settings
    are not valid.
    """
    try:
        return LLM.model_validate(llm)
    except ValidationError as error:
        raise invalid(error, "llm") from error


def profile_of(store: EncryptedSettings, name: str) -> dict[str, Any]:
    """Returns the settings of the model profile `name` (saved model settings with a name). Raises
    ServerProblem 404 if the profile does not exist.
    """
    llm = store.saved.profiles.get(name)
    if llm is None:
        raise ServerProblem(404, "profile_not_found", f"There is no profile {name}.")
    return llm


def _is_secret(name: str) -> bool:
    field = LLM.model_fields.get(name)
    return name == "extra_headers" or (field is not None and field.annotation == SecretStr | None)

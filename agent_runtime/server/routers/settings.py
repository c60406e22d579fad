"""Routes for the settings and secrets of the user, on an agent server that runs without an app server."""

from typing import Annotated, Any

from fastapi import Depends, Path
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_runtime.events.base import JsonObject
from agent_runtime.server.errors import ServerProblem, invalid, unsupported_field
from agent_runtime.server.routers.profiles import activate, checked
from agent_runtime.server.routers.router import Router
from agent_runtime.server.saved.encrypted_settings import EncryptedSettings, StoredSecret, merged
from agent_runtime.server.saved.secret_exposure import (
    Exposure,
    Saved,
    decrypted,
    is_masked,
    require_session_key,
)
from agent_runtime.server.saved.settings_schema import SettingsSchema, agent_schema, conversation_schema
from agent_runtime.tools.mcp.config import servers_of

router = Router(
    prefix="/api/settings",
    tags=["settings"],
    responses={409: {"description": "It exists already, or there is no key to encrypt it with"}},
)

MAX_SECRET_CHARS = 64 * 1024
_NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_]{0,127}$"

SecretName = Annotated[str, Path(pattern=_NAME_PATTERN)]


class SettingsResponse(BaseModel):
    """The reply of GET /api/settings: the saved settings. `is_kept`: whether the saved values remain
    available after a restart of the server. It is false if OH_SECRET_KEY is not set, because the values are
    then stored only in memory.
    """

    agent_settings: JsonObject
    conversation_settings: JsonObject
    llm_api_key_is_set: bool
    active_profile: str | None = None
    active_agent_profile_id: str | None = None
    active_meta_profile: str | None = None
    misc_settings: JsonObject = {}
    is_kept: bool


class SettingsUpdateRequest(BaseModel):
    """The request body of PATCH /api/settings: changes to the settings. The changes are merged into the saved
    settings, also inside nested objects. The value null removes an entry. Agent profiles and meta profiles do
    not exist, so the fields for the active ones can only be null.
    """

    model_config = ConfigDict(extra="forbid")

    agent_settings_diff: JsonObject | None = None
    conversation_settings_diff: JsonObject | None = None
    misc_settings_diff: JsonObject | None = None
    active_profile: str | None = None
    active_agent_profile_id: str | None = None
    active_meta_profile: str | None = None


class SecretItem(BaseModel):
    name: str
    description: str | None = None


class SecretList(BaseModel):
    secrets: list[SecretItem]


class SecretCreateRequest(BaseModel):
    name: str = Field(pattern=_NAME_PATTERN)
    value: str = Field(min_length=1, max_length=MAX_SECRET_CHARS)
    description: str | None = None


@router.get("/agent-schema")
async def get_agent_schema() -> SettingsSchema:
    return agent_schema()


@router.get("/conversation-schema")
async def get_conversation_schema() -> SettingsSchema:
    return conversation_schema()


@router.get("")
async def get_settings(store: Saved, expose: Exposure) -> SettingsResponse:
    """Returns the settings. Secrets are masked unless the header X-Expose-Secrets has the value `encrypted`
    or `plaintext`.
    """
    return _settings_response(store, expose)


@router.patch("", responses={404: {"description": "There is no such profile to activate"}})
async def update_settings(wanted: SettingsUpdateRequest, store: Saved, expose: Exposure) -> SettingsResponse:
    for name in ("active_agent_profile_id", "active_meta_profile"):
        if getattr(wanted, name) is not None:
            raise unsupported_field(name, "Leave it out. The field `active_profile` chooses a model profile.")
    if wanted.active_profile is not None and "llm" not in (wanted.agent_settings_diff or {}):
        activate(store, wanted.active_profile)
    elif wanted.active_profile is not None:
        store.change(active_profile=wanted.active_profile)
    given = {
        "agent_settings": wanted.agent_settings_diff,
        "conversation_settings": wanted.conversation_settings_diff,
        "misc_settings": wanted.misc_settings_diff,
    }
    changed = {
        name: merged(getattr(store.saved, name), decrypted(store, diff), is_kept=is_masked)
        for name, diff in given.items()
        if diff is not None
    }
    _check_agent(changed.get("agent_settings", {}))
    store.change(**changed)
    return _settings_response(store, expose)


@router.post("/mcp/{settings_key}", status_code=201)
async def add_mcp_server(
    settings_key: str, server: JsonObject, store: Saved, expose: Exposure
) -> SettingsResponse:
    if settings_key in _mcp_config(store):
        raise ServerProblem(409, "mcp_server_exists", f"There is an MCP server {settings_key[:128]} already.")
    return _set_mcp_server(store, expose, settings_key, server)


@router.patch("/mcp/{settings_key}")
async def change_mcp_server(
    settings_key: str, changes: JsonObject, store: Saved, expose: Exposure
) -> SettingsResponse:
    before = _mcp_server(store, settings_key)
    after = merged(before, decrypted(store, changes), is_kept=is_masked)
    return _set_mcp_server(store, expose, settings_key, after)


@router.delete("/mcp/{settings_key}")
async def remove_mcp_server(settings_key: str, store: Saved, expose: Exposure) -> SettingsResponse:
    _mcp_server(store, settings_key)
    return _set_mcp_server(store, expose, settings_key, None)


@router.get("/secrets")
async def list_secrets(store: Saved) -> SecretList:
    """Returns the names and descriptions of the secrets, without values."""
    stored = sorted(store.saved.secrets.items())
    return SecretList(secrets=[SecretItem(name=name, description=one.description) for name, one in stored])


@router.put("/secrets")
async def save_secret(wanted: SecretCreateRequest, store: Saved) -> SecretItem:
    """Creates or replaces a secret."""
    secret = StoredSecret(value=store.decrypt(wanted.value), description=wanted.description)
    store.change(secrets={**store.saved.secrets, wanted.name: secret})
    return SecretItem(name=wanted.name, description=wanted.description)


@router.get("/secrets/{name}", response_class=PlainTextResponse, dependencies=[Depends(require_session_key)])
async def get_secret(name: SecretName, store: Saved) -> PlainTextResponse:
    """Returns the value of a secret as plain text. A conversation can have a secret of the kind LookupSecret,
    which consists of a URL in place of a value. The conversation gets the value from that URL, which may be
    the URL of this route.
    """
    return PlainTextResponse(_secret(store, name).value, headers={"Cache-Control": "no-store"})


@router.delete("/secrets/{name}")
async def delete_secret(name: SecretName, store: Saved) -> dict[str, bool]:
    _secret(store, name)
    store.change(secrets={key: one for key, one in store.saved.secrets.items() if key != name})
    return {"deleted": True}


def _settings_response(store: EncryptedSettings, expose: Exposure) -> SettingsResponse:
    saved = store.saved
    agent: dict[str, Any] = {"agent_kind": "openhands", "mcp_config": {}, **saved.agent_settings}
    return SettingsResponse(
        agent_settings=expose(agent),
        conversation_settings=expose(saved.conversation_settings),
        llm_api_key_is_set=bool((agent.get("llm") or {}).get("api_key")),
        active_profile=saved.active_profile,
        misc_settings=saved.misc_settings,
        is_kept=store.is_kept,
    )


def _set_mcp_server(
    store: EncryptedSettings, expose: Exposure, name: str, server: JsonObject | None
) -> SettingsResponse:
    servers = {key: one for key, one in _mcp_config(store).items() if key != name}
    if server is not None:
        servers[name] = decrypted(store, server)
    agent = {**store.saved.agent_settings, "mcp_config": servers}
    _check_agent(agent)
    store.change(agent_settings=agent)
    return _settings_response(store, expose)


def _mcp_config(store: EncryptedSettings) -> JsonObject:
    config: JsonObject = store.saved.agent_settings.get("mcp_config") or {}
    return config


def _mcp_server(store: EncryptedSettings, name: str) -> JsonObject:
    server = _mcp_config(store).get(name)
    if not isinstance(server, dict):
        raise ServerProblem(404, "mcp_server_not_found", f"There is no MCP server {name[:128]}.")
    return server


def _check_agent(settings: JsonObject) -> None:
    if settings.get("llm"):
        checked(settings["llm"])
    try:
        servers_of(settings.get("mcp_config") or {})
    except ValidationError as error:
        raise invalid(error, "mcp_config") from error


def _secret(store: EncryptedSettings, name: str) -> StoredSecret:
    secret = store.saved.secrets.get(name)
    if secret is None:
        raise ServerProblem(404, "secret_not_found", f"There is no secret {name}.")
    return secret

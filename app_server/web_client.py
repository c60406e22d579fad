"""Route for the configuration that the web client needs before a user has signed in."""

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from app_server import demo
from app_server.core.database import ServerDatabase, Timestamp, now
from app_server.core.server_objects import ServerConfig
from app_server.core.version import VERSION
from app_server.gateway.preview_origins import has_names
from app_server.git.address import HOST_OF_PROVIDER
from app_server.sandboxes.service import ServerSandboxes
from app_server.sign_in.passwords.accounts import is_password_usable

_STARTED_AT = now()

router = APIRouter(prefix="/api/v1/web-client", tags=["Web client"])


class WorkspaceLimit(BaseModel):
    """The size limit of a new sandbox's workspace, and how the server enforces it. A workspace is the
    directory of a sandbox's files.

    `bytes`: the limit; null means no limit. `kept_by`: how the limit is enforced. With `disk`, each workspace
    is a separate disk of that size. With `watch`, the server measures workspaces and stops a sandbox whose
    workspace exceeds the limit. With `none`, there is no limit, or at least one sandbox host has no limit.
    """

    model_config = ConfigDict(from_attributes=True)

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]


class SandboxIsolation(BaseModel):
    """The isolation of sandboxes from the server's machine.

    `isolation`: how far sandboxes are isolated. With `full`, they are isolated from everything on the
    server's machine. With `files`, they can use all memory of that machine, but are isolated from everything
    else. With `none`, they are not isolated. `is_isolated`: true if `isolation` is `full`. `warning`: a text
    that says what an agent could reach; null if no warning is needed.
    """

    model_config = ConfigDict(from_attributes=True)

    backend: Literal["docker", "process", "remote"]
    isolation: Literal["full", "files", "none"]
    is_isolated: bool
    warning: str | None


class DemoInfo(BaseModel):
    """The data with which the web client starts the demo conversation, which needs no API key. `profile`: the
    name of the model profile. `repository`: the path of the repository on the server's disk. `task`: the
    first message to the agent.
    """

    profile: str
    repository: str
    task: str


class FeatureFlags(BaseModel):
    """The feature flags of the OpenHands API: which pages and services of OpenHands this server offers."""

    enable_billing: bool = False
    hide_llm_settings: bool = False
    enable_jira: bool = False
    enable_jira_dc: bool = False
    enable_linear: bool = False
    hide_users_page: bool = True
    hide_billing_page: bool = True
    hide_integrations_page: bool = False
    hide_personal_workspaces: bool = True
    allow_user_llm_configuration: bool = True
    enable_acp: bool = False
    deployment_mode: Literal["self_hosted"] = "self_hosted"
    enable_onboarding: bool = False
    enable_automations: bool = False


class ACPModel(BaseModel):
    id: str
    label: str


class ACPProvider(BaseModel):
    """A provider of agents that use the Agent Client Protocol (ACP), in the form of the OpenHands API."""

    key: str
    display_name: str
    default_command: list[str]
    default_model: str | None = None
    available_models: list[ACPModel] = []
    api_key_env_var: str | None = None
    base_url_env_var: str | None = None


class ProtocolConfig(BaseModel):
    """The configuration that clients of the OpenHands API ask for. The fields of services that Slipway does
    not have are null, false or empty.

    `updated_at`: when this server started.
    """

    kind: Literal["WebClientConfig"] = "WebClientConfig"
    app_mode: Literal["oss"] = "oss"
    feature_flags: FeatureFlags = FeatureFlags()
    updated_at: Timestamp
    provider_default_hosts: dict[str, str] = dict(HOST_OF_PROVIDER)
    providers_configured: list[str] = []
    acp_providers: Annotated[list[ACPProvider], Field(max_length=0)] = []
    """Always empty, because Slipway has no ACP agents."""
    faulty_models: list[str] = []
    posthog_client_key: None = None
    maintenance_start_time: None = None
    auth_url: None = None
    recaptcha_site_key: None = None
    error_message: None = None
    github_app_slug: None = None
    gitlab_enabled: bool = False
    slack_enabled: bool = False
    email_enabled: bool = False
    jira_dc_oauth_host: None = None
    jira_dc_service_account_managed: bool = False
    jira_dc_service_account_email: None = None
    jira_dc_service_account_config_error: None = None


class WebClientConfig(ProtocolConfig):
    """The reply of the configuration route: the configuration of the OpenHands API, and the data that
    Slipway's own pages need.

    `ports_have_names`: whether the pages of programs in a sandbox, which listen on ports, are shown at a
    separate host name for each port. If false, these pages are shown below a path of this server's address,
    and browsers then give them no storage. The value depends on the configuration and on the host name in the
    browser's request. `password_sign_in`: whether passwords are allowed and at least one user has a password.
    `sends_mail`: whether the server can send e-mail.
    """

    version: str
    ports_have_names: bool
    password_sign_in: bool
    sends_mail: bool
    sandbox: SandboxIsolation
    workspace_limit: WorkspaceLimit
    demo: DemoInfo


@router.get("/config")
async def get_web_client_config(
    config: ServerConfig, database: ServerDatabase, sandboxes: ServerSandboxes, request: Request
) -> WebClientConfig:
    async with database.read() as session:
        password_sign_in = await is_password_usable(session, config)
    return WebClientConfig(
        updated_at=_STARTED_AT,
        version=VERSION,
        ports_have_names=has_names(config, request.headers.get("host", "")),
        password_sign_in=password_sign_in,
        sends_mail=config.mail is not None,
        sandbox=SandboxIsolation.model_validate(sandboxes.describe()),
        workspace_limit=WorkspaceLimit.model_validate(sandboxes.workspace_limit()),
        demo=DemoInfo(
            profile=demo.PROFILE, repository=str(demo.repository_path(config.home)), task=demo.TASK
        ),
    )

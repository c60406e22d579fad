"""The routers of the public app (for users) and of the inner app (for sandboxes, on a separate port). The
first router with a matching route processes a request, so their order matters.

Each router of the public app is listed with the permission that its requests need.
"""

import re

from fastapi import APIRouter

from app_server import status, web_client
from app_server.access import audit_routes, job_routes, key_routes, web_session_routes
from app_server.access.route_access import (
    ADMINISTER,
    AUDIT,
    INSTALLATION,
    KEYS,
    MCP,
    OPEN,
    SETTINGS,
    TEAMS,
    WORK,
    RouteAccess,
)
from app_server.all_settings import commit_signing, item_routes, signing_key_at_hosts
from app_server.all_settings import router as all_settings
from app_server.audit_stream import router as audit_stream
from app_server.callbacks import router as callbacks
from app_server.commit_signing import router as commit_signatures
from app_server.conversations.live import router as user_stream
from app_server.conversations.retention import routes as retention_routes
from app_server.conversations.routes import browser as browser_routes
from app_server.conversations.routes import checkpoints as checkpoint_routes
from app_server.conversations.routes import commands as command_routes
from app_server.conversations.routes import confirmation as confirmation_routes
from app_server.conversations.routes import conversations
from app_server.conversations.routes import events as event_routes
from app_server.conversations.routes import files as file_routes
from app_server.conversations.routes import forks as fork_routes
from app_server.conversations.routes import git as git_routes
from app_server.conversations.routes import goals as goal_routes
from app_server.conversations.routes import imports as import_routes
from app_server.conversations.routes import lists as list_routes
from app_server.conversations.routes import mcp_changes as mcp_change_routes
from app_server.conversations.routes import model_keys as model_key_routes
from app_server.conversations.routes import network as network_routes
from app_server.conversations.routes import sandbox_settings as sandbox_settings_routes
from app_server.conversations.routes import sandboxes as sandbox_routes
from app_server.conversations.routes import skills as skill_routes
from app_server.conversations.routes import snapshots as snapshot_routes
from app_server.conversations.routes import start_tasks as start_task_routes
from app_server.conversations.routes import steering as steering_routes
from app_server.conversations.routes import sub_agents as task_routes
from app_server.conversations.routes import trust_grants as consent_routes
from app_server.conversations.routes import workspace_files as workspace_file_routes
from app_server.conversations.sharing import link_routes
from app_server.conversations.sharing import routes as sharing_routes
from app_server.conversations.start import secrets as own_secrets
from app_server.departures import routes as departure_routes
from app_server.egress import router as network
from app_server.egress.credentials import routes as network_credentials
from app_server.gateway import router as gateway
from app_server.gateway import secret_names
from app_server.git import owner_routes as repository_owners
from app_server.git import provider_routes
from app_server.git import router as git_credentials
from app_server.git_hosts import account_routes as git_account
from app_server.git_hosts import routes as git_search
from app_server.git_hosts.authorization import app_routes as git_apps
from app_server.git_hosts.authorization import sign_in_routes as git_sign_ins
from app_server.git_proxy import router as git_proxy
from app_server.llm_gateway import model_list, model_routes, program_routes, trial_routes
from app_server.llm_gateway import router as llm_gateway
from app_server.llm_gateway.limits import administration_routes, limit_routes
from app_server.marketplaces import router as marketplaces
from app_server.mcp import router as mcp
from app_server.mcp_broker import router as mcp_broker
from app_server.mcp_servers import router as mcp_servers
from app_server.memory import router as memory
from app_server.organisations import router as organisations
from app_server.pull_requests import router as pull_requests
from app_server.sandbox_reports import router as webhooks
from app_server.sandbox_specs import router as sandbox_specs
from app_server.sandboxes import router as sandboxes_router
from app_server.sandboxes import runtime_plugin_routes, secret_routes
from app_server.scim import router as scim
from app_server.secrets import router as secrets
from app_server.settings import confirmation, grouping, level_routes
from app_server.settings import router as settings
from app_server.sign_in import (
    identity_routes,
    people_routes,
    provider_overview_routes,
    service_account_routes,
)
from app_server.sign_in import router as sign_in
from app_server.sign_in.devices import confirmation_routes as device_answers
from app_server.sign_in.devices import routes as devices
from app_server.sign_in.oidc import routes as oidc
from app_server.sign_in.passwords import account_routes as password_settings
from app_server.sign_in.passwords import routes as passwords
from app_server.sign_in.saml import logout_routes as saml_logout
from app_server.sign_in.saml import routes as saml
from app_server.skill_catalogue import router as skill_catalogue
from app_server.skills import router as skills
from app_server.teams import router as teams
from app_server.teams.repositories import routes as team_repositories
from app_server.triggers import router as triggers
from app_server.triggers import webhook_route as git_webhooks
from app_server.trust_grants import router as consents

PUBLIC_ROUTERS: tuple[tuple[APIRouter, RouteAccess], ...] = (
    (git_webhooks.router, OPEN),  # first: hosts send many at once, and routes are tried in order
    (status.router, OPEN),
    (key_routes.router, KEYS),
    (web_session_routes.router, KEYS),
    (all_settings.router, SETTINGS),
    (sign_in.router, OPEN),
    (devices.router, OPEN),
    (device_answers.router, KEYS),
    (identity_routes.open_router, OPEN),
    (oidc.router, OPEN),
    (saml.router, OPEN),
    (saml_logout.router, OPEN),
    (identity_routes.router, KEYS),
    (passwords.router, OPEN),
    (password_settings.router, KEYS),
    (people_routes.router, ADMINISTER),
    (service_account_routes.router, ADMINISTER),
    (provider_overview_routes.router, INSTALLATION),
    (departure_routes.router, ADMINISTER),
    (organisations.router, INSTALLATION),
    (teams.router, TEAMS),
    (team_repositories.router, SETTINGS),
    (repository_owners.router, SETTINGS),
    (scim.router, ADMINISTER),
    (audit_stream.router, INSTALLATION),
    (audit_routes.router, AUDIT),
    (job_routes.router, INSTALLATION),
    (settings.router, SETTINGS),
    (settings.sharing_router, ADMINISTER),
    (settings.facts_router, SETTINGS),
    (trial_routes.router, SETTINGS),
    (model_list.router, SETTINGS),
    (provider_routes.router, SETTINGS),  # before secrets: `git-providers` is no name of one
    (secrets.router, SETTINGS),
    (git_credentials.router, SETTINGS),
    (commit_signing.router, SETTINGS),
    (signing_key_at_hosts.router, SETTINGS),
    (git_apps.router, INSTALLATION),
    (git_sign_ins.router, SETTINGS),
    (git_search.router, SETTINGS),
    (git_account.router, SETTINGS),
    (mcp.router, MCP),
    (mcp_servers.router, SETTINGS),
    (mcp_servers.sign_in_router, SETTINGS),
    (confirmation.router, SETTINGS),
    (grouping.router, SETTINGS),
    (level_routes.router, SETTINGS),
    (level_routes.administration_router, ADMINISTER),
    (item_routes.router, SETTINGS),
    (item_routes.administration_router, ADMINISTER),
    (network.router, SETTINGS),
    (network_credentials.router, SETTINGS),
    (limit_routes.router, SETTINGS),
    (model_routes.router, SETTINGS),
    (skills.router, SETTINGS),
    (skill_catalogue.router, SETTINGS),
    (marketplaces.router, SETTINGS),
    (marketplaces.shared_router, INSTALLATION),
    (administration_routes.router, ADMINISTER),
    (retention_routes.router, INSTALLATION),
    (callbacks.router, SETTINGS),
    (triggers.router, SETTINGS),
    (memory.router, SETTINGS),
    (memory.proposal_router, SETTINGS),
    (consents.router, SETTINGS),
    (web_client.router, OPEN),
    (sandboxes_router.router, WORK),
    (sandbox_specs.router, WORK),
    (sandbox_specs.settings_router, SETTINGS),
    (gateway.router, WORK),
    (secret_names.router, OPEN),  # asks for the key of a sandbox itself
    (sandbox_routes.router, WORK),
    (runtime_plugin_routes.router, WORK),
    (snapshot_routes.router, WORK),
    (start_task_routes.router, WORK),
    (import_routes.router, WORK),
    (fork_routes.router, WORK),
    (list_routes.router, WORK),
    (conversations.router, WORK),
    (conversations.pending_router, WORK),
    (sharing_routes.router, WORK),
    (link_routes.router, WORK),
    (link_routes.open_router, OPEN),
    (git_routes.router, WORK),
    (pull_requests.router, WORK),
    (browser_routes.router, WORK),
    (command_routes.router, WORK),
    (skill_routes.router, WORK),
    (file_routes.router, WORK),
    (workspace_file_routes.router, WORK),
    (steering_routes.router, WORK),
    (confirmation_routes.router, WORK),
    (consent_routes.router, WORK),
    (mcp_change_routes.router, WORK),
    (network_routes.router, WORK),
    (model_key_routes.router, WORK),
    (goal_routes.router, WORK),
    (checkpoint_routes.router, WORK),
    (task_routes.router, WORK),
    (event_routes.router, WORK),
    (user_stream.router, WORK),
)
# Signed by git hosts, which have no account here. Verified before anything is decoded.
PREFIXES_OF_SIGNED_BODIES = (f"{git_webhooks.router.prefix}/",)
# An identity provider's page sends its signed answer here.
FOREIGN_FORMS = re.compile(rf"{re.escape(saml.router.prefix)}/[^/]+/(?:acs|slo)")
# Messages may contain images, so their bodies are large.
PREFIXES_OF_LARGE_BODIES = (conversations.router.prefix, conversations.pending_router.prefix)
INNER_ROUTERS: tuple[APIRouter, ...] = (
    status.inner_router,
    llm_gateway.router,
    program_routes.router,
    program_routes.messages_router,
    mcp_broker.router,
    mcp.inner_router,
    commit_signatures.inner_router,
    git_proxy.router,
    secret_routes.inner_router,
    own_secrets.inner_router,
    sandbox_settings_routes.inner_router,
    webhooks.router,
)

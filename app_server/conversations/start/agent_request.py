"""Builds the request with which the app server creates a conversation at the agent server. The input is the
start request that the user has sent. Does no I/O.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from agent_runtime.catalogue.lookup import facts_of
from agent_runtime.wire import PluginSource, ProjectConsent, StartConversationRequest, WorkingDirectory
from app_server.conversations.confirmation_policy import analyzer_of, policy_of
from app_server.conversations.schemas import StartRequest
from app_server.conversations.start import secrets as own_secrets
from app_server.mcp_broker.own_server import NAME, own_server_url
from app_server.mcp_broker.router import broker_url
from app_server.mcp_servers.schemas import Definition
from app_server.sandboxes.secret_routes import secret_url
from app_server.settings.confirmation import ConfirmationMode
from app_server.settings.effective_values import effective
from app_server.settings.models import DEFAULT_MAX_ITERATIONS, LLMProfile, is_recorded
from app_server.skills.files import SkillFile

TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("terminal", {"sessions": 4}),
    ("file_editor", {}),
    ("grep", {}),
    ("glob", {}),
    ("view_image", {}),
    ("task_tracker", {}),
    ("task_tool_set", {}),
)
"""The names and parameters of the tools that every agent has. The agent server also adds the tools `finish`
and `think`, which are not in this list.
"""

PLAN = "PLAN.md"
PLAN_TOOLS = ("grep", "glob", "view_image", "task_tracker")
"""The tools of an agent that only makes a plan. None of these tools changes a file. The agent also has a tool
that edits the plan, which is not in this list.
"""

_PLANNING = """\
You plan; others do the work by your plan. Read what matters in the project, then write the plan to PLAN.md
with planning_file_editor: the goal, what is there now, steps that name files and functions, and how to check
the result. If something is unclear and a wrong guess would be costly, ask. Finish with a summary of the plan.
"""

OPTIONAL_TOOLS = ("execute_ipython_cell", "browser_tool_set")
"""Tools that the app server requests only if the sandbox supports them, because an agent server refuses a
request with unsupported tools.
"""

PARALLEL_CALLS = 4

SENT = {"reasoning_effort", "thinking_budget", "temperature", "top_p", "max_output_tokens"}
"""The options of a model profile (a saved model with its options) that the agent server includes in its model
calls.
"""

TIMEOUTS = ("timeout", "stream_idle_timeout")
GRACE_SECONDS = 15.0

NO_APPROVALS: Mapping[str, Any] = {}
NO_CONSENTS: Mapping[str, Sequence[str]] = {}
NO_SECRETS: Mapping[str, str | None] = {}
NO_SERVERS: Mapping[str, Definition] = {}


def build(
    request: StartRequest,
    *,
    conversation_id: UUID,
    sandbox_id: UUID,
    profile: LLMProfile,
    fallbacks: Sequence[LLMProfile] = (),
    inner_url: str,
    model_proof: str,
    silence_seconds: float,
    working_dir: str,
    further_projects: Sequence[str] = (),
    skill_files: Sequence[SkillFile] = (),
    disabled_skills: Sequence[str] = (),
    mode: ConfirmationMode = ConfirmationMode.NEVER,
    secrets: Mapping[str, str | None] = NO_SECRETS,
    consent: Sequence[str] = (),
    further_consent: Mapping[str, Sequence[str]] = NO_CONSENTS,
    usable_tools: Collection[str] = (),
    mcp_approved: Mapping[str, Any] = NO_APPROVALS,
    mcp_servers: Mapping[str, Definition] = NO_SERVERS,
    has_own_tools: bool = False,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
) -> StartConversationRequest:
    """Builds the request that creates a conversation at the agent server. The agent must call its model at
    the inner listener (Slipway's HTTP server for sandboxes), so the sandbox never gets the vendor's key.

    request: the start request that the user has sent. working_dir: the directory in which the agent works.
    further_projects: the directories of the conversation's further repositories (all but the first one).

    profile: the model profile (the saved model with its options) for the agent. fallbacks: model profiles to
    try, in this order, if the model stays unavailable. inner_url: the URL of the inner listener. model_proof:
    a signature of the conversation's id; it proves that a model call belongs to this conversation.
    silence_seconds: how long the app server waits for data from the vendor during a model call.

    skill_files: the skill files that the agent server gets. disabled_skills: names of skills that the user
    has switched off. mode: when the agent asks the user before an action. max_iterations: how many times the
    agent may call its model in one run. secrets: descriptions of secrets by name; a value is fetched only
    when a command uses it. usable_tools: the names of the tools that work in this sandbox; the agent gets
    an optional tool only if it is one of these.

    consent: hashes of the executables (hooks, MCP servers and others) that the user has allowed in the first
    repository. Executables with other hashes do not run. further_consent: the same for each further
    repository; the keys are the directories of the repositories.

    mcp_servers: the user's MCP servers by name. Servers that are commands run in the sandbox. Other servers
    are called through the inner listener, which adds the credentials. mcp_approved: the definitions of MCP
    tools that the user has approved, by server and tool name. has_own_tools: whether the agent also gets
    Slipway's own MCP server.
    """
    llm = brokered_llm(
        profile,
        fallbacks,
        inner_url=inner_url,
        conversation_id=conversation_id,
        model_proof=model_proof,
        silence_seconds=silence_seconds,
    )
    plans = request.agent_type == "plan"
    own_server = {NAME: {"url": own_server_url(inner_url, conversation_id, model_proof), "transport": "http"}}
    # The budget is set on the agent's model and limits all costs of the conversation. The condenser has no
    # separate budget.
    budget = {"max_budget_per_task": request.max_budget_per_task or profile.max_budget_per_task}
    # The objective of a goal becomes a message when the goal is set.
    message = None if request.goal else request.initial_message
    return StartConversationRequest(
        agent={
            "kind": "Agent",
            "llm": {**llm, **budget},
            "tools": _planning_tools(working_dir) if plans else _tools(profile.model, usable_tools),
            "tool_concurrency_limit": PARALLEL_CALLS,
            "mcp_config": {
                **(own_server if has_own_tools and not plans else {}),
                **{
                    name: _mcp_server(name, server, inner_url)
                    for name, server in mcp_servers.items()
                    if not plans
                },
            },
            "condenser": {"kind": "LLMSummarizingCondenser", "llm": {**llm, "usage_id": "condenser"}},
            "agent_context": {
                "load_project_skills": True,
                **({"further_projects": list(further_projects)} if further_projects else {}),
                "load_memory": request.selected_repository is not None,
                "load_user_skills": True,
                "load_org_skills": True,
                "load_public_skills": True,
                "system_message_suffix": _suffix(request),
                "disabled_skills": list(disabled_skills),
                "skill_files": [file.model_dump(exclude_none=True) for file in skill_files],
            },
        },
        workspace=WorkingDirectory(working_dir=working_dir),
        conversation_id=conversation_id,
        initial_message=message.to_agent(message.id or conversation_id.hex) if message else None,
        title=request.title,
        autotitle=not is_recorded(profile.model),
        plugins=[
            PluginSource(source=each.source, ref=each.ref, repo_path=each.repo_path)
            for each in request.plugins or ()
        ]
        or None,
        max_iterations=max_iterations,
        secrets={
            **{
                name: _looked_up(secret_url(inner_url, sandbox_id, name), description)
                for name, description in secrets.items()
            },
            **{
                name: _looked_up(own_secrets.url_of(inner_url, sandbox_id, conversation_id, name))
                for name in request.secrets or {}
            },
        },
        confirmation_policy=policy_of(mode),
        security_analyzer=analyzer_of(mode),
        consent=list(consent),
        further_consent=[
            ProjectConsent(project_dir=directory, hashes=list(hashes))
            for directory, hashes in further_consent.items()
            if hashes
        ],
        ask_when_stuck=request.ask_when_stuck,
        # Without a person who reads along, a reply such as "Now I will run the tests." must not be the end.
        expects_finish=not request.ask_when_stuck or request.goal is not None,
        mcp_approved=dict(mcp_approved),
    )


def brokered_llm(
    profile: LLMProfile,
    fallbacks: Sequence[LLMProfile] = (),
    *,
    inner_url: str,
    conversation_id: UUID,
    model_proof: str,
    silence_seconds: float,
) -> dict[str, Any]:
    """Returns the model settings of a model profile (a saved model with its options) for a conversation in a
    sandbox. With these settings, the model is called through the inner listener (the HTTP server of Slipway
    for sandboxes), and the costs of the calls are added to this conversation.

    The settings include the limits, prices and options of the profile. They do not include its extra headers
    and extra body fields, which the app server adds when it forwards a call.

    `fallbacks`: profiles to try, in this order, if the model stays unavailable. With fallbacks, a failed call
    of the first model is retried only 2 times instead of 8 times. So the first fallback is tried after a few
    seconds.

    `inner_url`: the URL of the inner listener. `model_proof`: a signature of the conversation's id, which
    proves to the app server that a call belongs to this conversation. `silence_seconds`: how long the app
    server waits for data from the vendor if the profile has no timeout.
    """
    model = effective(profile)
    price, options = model.price, model.options
    # The gateway gives up first and tells why.
    patience = dict.fromkeys(TIMEOUTS, (options.timeout or silence_seconds) + GRACE_SECONDS)
    conversation_url = f"{inner_url.rstrip('/')}/llm/{profile.name}/conversations/{conversation_id.hex}"
    brokered = partial(
        brokered_llm,
        inner_url=inner_url,
        conversation_id=conversation_id,
        model_proof=model_proof,
        silence_seconds=silence_seconds,
    )
    others = {"fallback_strategy": {"fallback_llms": list(map(brokered, fallbacks))}} if fallbacks else {}
    return {
        **others,
        "model": profile.model,
        "base_url": f"{conversation_url}/{model_proof}/v1",
        "max_input_tokens": model.window,
        "capability_overrides": dict(model.capabilities),
        "native_tool_calling": model.calls_tools,
        # Calls with a stop sequence would be refused.
        "disable_stop_word": True if "stop" in model.facts.refused else None,
        **options.model_dump(include=SENT, exclude_none=True),
        **patience,
        "input_cost_per_token": price and price.prompt,
        "output_cost_per_token": price and price.completion,
        "cache_read_cost_per_token": price and price.cache_read,
        "cache_write_cost_per_token": price and price.cache_write,
        "usage_id": "agent",
        "stream": True,
        # Calls go through the app server's gateway. The first retries come quickly, because the app server is
        # back within seconds after a restart. The later waits are longer, a minute in all, because a vendor
        # may be overloaded. Then the run pauses.
        "num_retries": 2 if fallbacks else 8,
        "retry_multiplier": 1,
        "retry_min_wait": 1,
        "retry_max_wait": 16,
    }


def _looked_up(url: str, description: str | None = None) -> dict[str, Any]:
    return {"kind": "LookupSecret", "url": url, "description": description}


def _mcp_server(name: str, server: Definition, inner_url: str) -> dict[str, Any]:
    if server.url is not None:
        return {"url": broker_url(inner_url, name), "transport": "http", "timeout": server.timeout}
    return server.model_dump(include={"command", "args", "env", "cwd", "timeout"}, exclude_none=True)


def _suffix(request: StartRequest) -> str | None:
    parts = (_PLANNING if request.agent_type == "plan" else None, request.system_message_suffix)
    return "\n".join(part for part in parts if part) or None


def _planning_tools(working_dir: str) -> list[dict[str, Any]]:
    editor = {"name": "planning_file_editor", "params": {"plan_path": f"{working_dir}/{PLAN}"}}
    return [editor, *({"name": name, "params": {}} for name in PLAN_TOOLS)]


def _tools(model: str, usable: Collection[str]) -> list[dict[str, Any]]:
    further = [name for name in OPTIONAL_TOOLS if name in usable]
    # Other models write broken patches.
    if facts_of(model).writes_patches:
        further.append("apply_patch")
    return [{"name": name, "params": params} for name, params in (*TOOLS, *((one, {}) for one in further))]

"""Adds a plugin to a conversation that already exists. A plugin consists of skills, hooks, sub-agents and MCP
servers.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_runtime.agent.agent import Agent
from agent_runtime.context.skills import SkillDiscovery
from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.state import AGENT
from agent_runtime.conversation.run.hook_dispatch import open_session, parse_hooks
from agent_runtime.conversation.spec import Spec, mask
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.plugins.apply import with_plugins
from agent_runtime.plugins.plugin import Plugin
from agent_runtime.plugins.store import PluginStore
from agent_runtime.project_executables.consents import (
    consent_to,
    consents_of,
    is_name_taken,
    project_named,
    with_consents,
)
from agent_runtime.project_executables.load_consented import ApprovedExecutables
from agent_runtime.tools.mcp.config import named_servers


def add_plugin(
    conversation: ConversationEngine, plugin: Plugin, *, consent: tuple[Path, str] | None = None
) -> None:
    """Adds the skills, hooks, sub-agents and MCP servers of a plugin to the conversation. The agent uses
    these parts from its next reply on, also after a restart of the server. The agent gets a message with the
    names of the added parts.

    A part is left out if the conversation already has a part of the same kind and name, for example a skill
    with the same name. Raises HookConfigError if the hooks are not valid. Raises pydantic.ValidationError if
    a skill, a sub-agent or an MCP server is not valid.

    `consent`: says that the user has approved an executable of a repository, such as a hook, from which this
    plugin was made. It contains the repository's directory and the approved hash. It is stored, so that the
    executable may be loaded again after a restart. None means that the plugin was not made from such an
    executable.
    """
    before, agent = conversation.spec, conversation.agent
    after = _extended(before, plugin)
    if consent is not None:
        project, hash_ = consent
        consents = [*consents_of(after.request), (project, [hash_])]
        after = after.model_copy(update={"request": with_consents(after.request, consents)})
    servers = {**named_servers(plugin.mcp_config or {}), **named_servers(agent.mcp_config)}
    _adopt(conversation, after, agent.model_copy(update={"mcp_config": servers}))
    known = {skill.name for skill in before.project.skills}
    message = render(
        "plugin_added.j2",
        plugin=plugin.name,
        skills=[one for one in after.project.of_type("agentskills") if one.name not in known],
        instructions=[one for one in after.project.of_type("repo") if one.name not in known],
        servers=[name for name in servers if name not in named_servers(agent.mcp_config)],
    )
    conversation.emit(
        ConversationStateUpdateEvent(key=AGENT, value=mask(conversation.agent.model_dump(mode="json"))),
        MessageEvent(source="environment", llm_message=Message.of("user", message)),
    )
    conversation.publish_full_state()


async def take_up(
    conversation: ConversationEngine,
    executables: ApprovedExecutables,
    hashes: Sequence[str],
    directory: str | None = None,
) -> None:
    """Adds executables of a repository (such as hooks and MCP servers) to the conversation after the user has
    approved them. Leaves out an MCP server if the conversation already has an MCP server with the same name.

    `executables`: the object that reads the executables from the repository. `hashes`: the hashes of the
    executables that the user has approved. `directory`: the directory of an additional repository; None means
    the conversation's main repository. Raises PluginError if the executables cannot be loaded. Raises
    HookConfigError if hooks are not valid. Raises pydantic.ValidationError if a skill, a sub-agent or an MCP
    server is not valid.
    """
    request = conversation.spec.request
    project = project_named(request, directory)
    fresh = set(hashes) - set(consent_to(request, project))
    for executable, plugin in await executables.take(request, project, fresh):
        if is_name_taken(executable, conversation.spec.agent):
            continue
        named = replace(plugin, manifest=plugin.manifest.model_copy(update={"name": executable.name}))
        add_plugin(conversation, named, consent=(project, executable.hash))


async def take_plugin_keys(
    conversation: ConversationEngine, store: PluginStore, executables: ApprovedExecutables
) -> None:
    """Restores the secrets (such as API keys) that the agent's MCP servers lack. For example, a restart of
    the agent server may have removed them from memory. Does nothing if no secrets are missing.

    The secrets are read again from the configurations that contain them: those of the conversation's plugins,
    from `store`, and those of the repositories' approved executables, from `executables`. Raises PluginError
    if a plugin or an executable cannot be loaded.
    """
    request = conversation.spec.request
    if conversation.keys.are_lacking and (request.plugins or request.consent or request.further_consent):
        bare = request.model_copy(update={"agent": {**request.agent, "mcp_config": {}}})
        conversation.keys.take((await executables.again(await store.expand(bare))).agent)


def _adopt(conversation: ConversationEngine, spec: Spec, agent: Agent) -> None:
    """Replaces the specification (the data with which the conversation was created) and the agent of the
    conversation by versions that contain the parts of a new plugin. Raises HookConfigError if the hooks are
    not valid. Raises pydantic.ValidationError if a skill, a sub-agent or an MCP server is not valid. After an
    error, the conversation is unchanged.
    """
    context = conversation.run_context
    hooks = parse_hooks(spec.request.hook_config)
    context.toolbox.extend(spec, agent)
    context.log.set_spec(spec.model_dump_json())
    if spec.request.hook_config != context.spec.request.hook_config:
        context.hooks = open_session(context, hooks)
    context.spec, context.agent = spec, agent
    conversation.keys.keep()


def _extended(spec: Spec, plugin: Plugin) -> Spec:
    known = {skill.name: skill for skill in spec.project.skills}
    fresh = [skill for skill in plugin.skills if skill.name not in known]
    findings = [
        SkillDiscovery(
            path=skill.source or skill.name,
            name=skill.name,
            is_loaded=skill.name not in known,
            reason=f"a skill of the plugin {plugin.name}"
            if skill.name not in known
            else "another skill has the same name and was here first",
        )
        for skill in plugin.skills
    ]
    project = spec.project.model_copy(
        update={
            "skills": (*spec.project.skills, *fresh),
            "findings": (*spec.project.findings, *findings),
        }
    )
    return spec.model_copy(update={"request": with_plugins(spec.request, [plugin]), "project": project})

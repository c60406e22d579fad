"""A library to build and run agents that work on software: see README.md beside this file.

    from agent_runtime import LLM, Agent, Conversation, ToolSpec

Each name is loaded at its first use. So an import of this package does not slow down the start of the agent
server, which needs none of these names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_runtime.agent.agent import Agent
    from agent_runtime.agent.default import default_agent
    from agent_runtime.client.callbacks import EventCallback, StreamCallback
    from agent_runtime.client.conversation import Conversation
    from agent_runtime.client.docker_workspace import DockerWorkspace
    from agent_runtime.client.errors import (
        ConversationRunError,
        DisconnectedError,
        StuckError,
        WorkspaceError,
    )
    from agent_runtime.client.frames import StreamAborted, StreamDelta, StreamEvent, StreamStarted
    from agent_runtime.client.local_agent_server import LocalAgentServer
    from agent_runtime.client.local_workspace import LocalWorkspace
    from agent_runtime.client.remote_workspace import RemoteWorkspace
    from agent_runtime.client.replay import replay
    from agent_runtime.client.state import ConversationState, ConversationStats, Metrics, TokenUsage
    from agent_runtime.client.workspace import (
        CommandResult,
        FileOperationResult,
        GitChange,
        GitDiff,
        Workspace,
    )
    from agent_runtime.context.condense import LLMSummarizingCondenser, NoOpCondenser, PipelineCondenser
    from agent_runtime.context.skills import AgentContext
    from agent_runtime.conversation.errors import (
        AlreadyRunningError,
        CheckpointNotFoundError,
        CheckpointsUnavailableError,
        ClientCallNotWaitingError,
        ConversationError,
        EditedSinceError,
        EventNotFoundError,
        HookConfigError,
        NoCondenserError,
        NoGoalToResumeError,
        NothingToCondenseError,
        NothingToConfirmError,
        RewindIncompleteError,
    )
    from agent_runtime.conversation.event_log.replay import Prompted
    from agent_runtime.conversation.run.goal import Goal, GoalVerdict
    from agent_runtime.events.action import ActionEvent
    from agent_runtime.events.base import Event
    from agent_runtime.events.condensation import Condensation, CondensationRequest
    from agent_runtime.events.content import ImageContent, TextContent
    from agent_runtime.events.errors import ConversationErrorEvent
    from agent_runtime.events.message import Message, MessageEvent, SystemPromptEvent
    from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
    from agent_runtime.events.state import (
        ConversationStateUpdateEvent,
        ExecutionStatus,
        InterruptEvent,
        PauseEvent,
    )
    from agent_runtime.events.union import AnyEvent
    from agent_runtime.hooks.config import HookConfig, HookDefinition, HookMatcher
    from agent_runtime.llm.config import LLM, FallbackStrategy, Route
    from agent_runtime.security.analyzers import (
        EnsembleSecurityAnalyzer,
        LLMSecurityAnalyzer,
        PatternSecurityAnalyzer,
        PolicyRailSecurityAnalyzer,
    )
    from agent_runtime.security.policy import AlwaysConfirm, ConfirmRisky, NeverConfirm
    from agent_runtime.tools.claims import Claim
    from agent_runtime.tools.external.client_tool import ClientToolSpec
    from agent_runtime.tools.registry import ToolSpec
    from agent_runtime.tools.tool import Action, Observation, Tool, ToolAnnotations, ToolContext
    from agent_runtime.wire import (
        CheckpointChange,
        CheckpointDiff,
        CheckpointInfo,
        CheckpointKind,
        ExecutableFile,
        PluginSource,
        ProjectExecutable,
        RewindResult,
        StuckDetectionThresholds,
    )
else:
    _NAMES_OF = {
        "agent.agent": ("Agent",),
        "agent.default": ("default_agent",),
        "client.callbacks": ("EventCallback", "StreamCallback"),
        "client.conversation": ("Conversation",),
        "client.docker_workspace": ("DockerWorkspace",),
        "client.errors": ("ConversationRunError", "DisconnectedError", "StuckError", "WorkspaceError"),
        "client.frames": ("StreamAborted", "StreamDelta", "StreamEvent", "StreamStarted"),
        "client.local_agent_server": ("LocalAgentServer",),
        "client.local_workspace": ("LocalWorkspace",),
        "client.remote_workspace": ("RemoteWorkspace",),
        "client.replay": ("replay",),
        "client.state": ("ConversationState", "ConversationStats", "Metrics", "TokenUsage"),
        "client.workspace": ("CommandResult", "FileOperationResult", "GitChange", "GitDiff", "Workspace"),
        "context.condense": ("LLMSummarizingCondenser", "NoOpCondenser", "PipelineCondenser"),
        "context.skills": ("AgentContext",),
        "conversation.errors": (
            "AlreadyRunningError",
            "CheckpointNotFoundError",
            "CheckpointsUnavailableError",
            "ConversationError",
            "EditedSinceError",
            "EventNotFoundError",
            "HookConfigError",
            "NoCondenserError",
            "NoGoalToResumeError",
            "NothingToCondenseError",
            "ClientCallNotWaitingError",
            "NothingToConfirmError",
            "RewindIncompleteError",
        ),
        "conversation.run.goal": ("Goal", "GoalVerdict"),
        "conversation.event_log.replay": ("Prompted",),
        "events.action": ("ActionEvent",),
        "events.base": ("Event",),
        "events.condensation": ("Condensation", "CondensationRequest"),
        "events.content": ("ImageContent", "TextContent"),
        "events.errors": ("ConversationErrorEvent",),
        "events.message": ("Message", "MessageEvent", "SystemPromptEvent"),
        "events.observation": ("AgentErrorEvent", "ObservationEvent", "UserRejectObservation"),
        "events.state": ("ConversationStateUpdateEvent", "ExecutionStatus", "InterruptEvent", "PauseEvent"),
        "events.union": ("AnyEvent",),
        "hooks.config": ("HookConfig", "HookDefinition", "HookMatcher"),
        "llm.config": ("LLM", "FallbackStrategy", "Route"),
        "security.analyzers": (
            "EnsembleSecurityAnalyzer",
            "LLMSecurityAnalyzer",
            "PatternSecurityAnalyzer",
            "PolicyRailSecurityAnalyzer",
        ),
        "security.policy": ("AlwaysConfirm", "ConfirmRisky", "NeverConfirm"),
        "tools.claims": ("Claim",),
        "tools.external.client_tool": ("ClientToolSpec",),
        "tools.registry": ("ToolSpec",),
        "tools.tool": ("Action", "Observation", "Tool", "ToolAnnotations", "ToolContext"),
        "wire": (
            "CheckpointChange",
            "CheckpointDiff",
            "CheckpointInfo",
            "CheckpointKind",
            "ProjectExecutable",
            "ExecutableFile",
            "PluginSource",
            "RewindResult",
            "StuckDetectionThresholds",
        ),
    }
    _MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}

    def __getattr__(name: str) -> Any:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value  # later look-ups find the name directly
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULE_OF})


__all__ = [
    "LLM",
    "Action",
    "ActionEvent",
    "Agent",
    "AgentContext",
    "AgentErrorEvent",
    "AlreadyRunningError",
    "AlwaysConfirm",
    "AnyEvent",
    "CheckpointChange",
    "CheckpointDiff",
    "CheckpointInfo",
    "CheckpointKind",
    "CheckpointNotFoundError",
    "CheckpointsUnavailableError",
    "Claim",
    "ClientCallNotWaitingError",
    "ClientToolSpec",
    "CommandResult",
    "Condensation",
    "CondensationRequest",
    "ConfirmRisky",
    "Conversation",
    "ConversationError",
    "ConversationErrorEvent",
    "ConversationRunError",
    "ConversationState",
    "ConversationStateUpdateEvent",
    "ConversationStats",
    "DisconnectedError",
    "DockerWorkspace",
    "EditedSinceError",
    "EnsembleSecurityAnalyzer",
    "Event",
    "EventCallback",
    "EventNotFoundError",
    "ExecutableFile",
    "ExecutionStatus",
    "FallbackStrategy",
    "FileOperationResult",
    "GitChange",
    "GitDiff",
    "Goal",
    "GoalVerdict",
    "HookConfig",
    "HookConfigError",
    "HookDefinition",
    "HookMatcher",
    "ImageContent",
    "InterruptEvent",
    "LLMSecurityAnalyzer",
    "LLMSummarizingCondenser",
    "LocalAgentServer",
    "LocalWorkspace",
    "Message",
    "MessageEvent",
    "Metrics",
    "NeverConfirm",
    "NoCondenserError",
    "NoGoalToResumeError",
    "NoOpCondenser",
    "NothingToCondenseError",
    "NothingToConfirmError",
    "Observation",
    "ObservationEvent",
    "PatternSecurityAnalyzer",
    "PauseEvent",
    "PipelineCondenser",
    "PluginSource",
    "PolicyRailSecurityAnalyzer",
    "ProjectExecutable",
    "Prompted",
    "RemoteWorkspace",
    "RewindIncompleteError",
    "RewindResult",
    "Route",
    "StreamAborted",
    "StreamCallback",
    "StreamDelta",
    "StreamEvent",
    "StreamStarted",
    "StuckDetectionThresholds",
    "StuckError",
    "SystemPromptEvent",
    "TextContent",
    "TokenUsage",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolSpec",
    "UserRejectObservation",
    "Workspace",
    "WorkspaceError",
    "default_agent",
    "replay",
]

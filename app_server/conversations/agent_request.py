"""What the agent server is asked to start: pure, from what the user asked for."""

from uuid import UUID

from agent_runtime.wire import LocalWorkspace, StartConversationRequest
from app_server.conversations.schemas import StartRequest

TOOLS = ("terminal", "file_editor")


def build(
    request: StartRequest,
    *,
    conversation_id: UUID,
    model: str,
    llm_profile: str,
    inner_url: str,
    working_dir: str,
) -> StartConversationRequest:
    """The model is reached through the inner listener; the sandbox's own key opens it, no vendor's."""
    llm = {
        "model": model,
        "base_url": f"{inner_url.rstrip('/')}/llm/{llm_profile}/v1",
        "usage_id": "agent",
        "stream": True,
        # Between the two stands the gateway: when the app server restarts, it is back within seconds. After
        # that the waits grow, two minutes in all, for vendors that are overloaded.
        "num_retries": 8,
        "retry_multiplier": 1,
        "retry_min_wait": 1,
    }
    message = request.initial_message
    return StartConversationRequest(
        agent={
            "kind": "Agent",
            "llm": llm,
            "tools": [{"name": name, "params": {}} for name in TOOLS],
            "condenser": {"kind": "LLMSummarizingCondenser", "llm": {**llm, "usage_id": "condenser"}},
            "agent_context": {"load_project_skills": True},
        },
        workspace=LocalWorkspace(working_dir=working_dir),
        conversation_id=conversation_id,
        initial_message=message.to_agent(message.id or conversation_id.hex) if message else None,
        title=request.title,
    )

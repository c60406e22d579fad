"""Creates a conversation in a directory, and loads an existing conversation from its directory."""

from pathlib import Path
from uuid import UUID, uuid4

import orjson

from agent_runtime.agent.agent import Agent, secrets_of
from agent_runtime.context.git_state import GitState
from agent_runtime.conversation.approval.pending_actions import check_safeguards
from agent_runtime.conversation.checkpoints.restore import complete
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.encrypted_keys import KeyEncryption, keep, recall
from agent_runtime.conversation.event_log.log import EventLog, LogMissingError
from agent_runtime.conversation.event_log.spec_signature import UNSIGNED, SpecSigner
from agent_runtime.conversation.run.context import SECRETS
from agent_runtime.conversation.run.hook_dispatch import parse_hooks
from agent_runtime.conversation.run.slots import RunSlots
from agent_runtime.conversation.spec import Spec
from agent_runtime.conversation.toolbox import Toolbox
from agent_runtime.llm.complete import LLMClient
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.wire import StartConversationRequest


def create_conversation(
    directory: Path,
    request: StartConversationRequest,
    client: LLMClient,
    *,
    conversation_id: UUID | None = None,
    slots: RunSlots | None = None,
    secrets: Secrets | None = None,
    delegation: Delegation = ALONE,
    key_encryption: KeyEncryption | None = None,
    signer: SpecSigner = UNSIGNED,
    git: GitState | None = None,
) -> ConversationEngine:
    """Creates a conversation in `directory` and returns its engine. If an earlier creation in this directory
    was interrupted, the new conversation uses the files that the earlier creation has written.

    Raises pydantic.ValidationError if the agent's configuration is not valid. Raises ToolNotFoundError for
    unknown tools. Raises UnsupportedKindError for an unknown confirmation policy or security analyzer. Raises
    InvalidSecretError if a secret is not valid. Raises FileExistsError if the conversation already exists.

    `secrets`: the store for the secrets of the request. `key_encryption`: the cipher that encrypts API keys
    on disk; if it is None, the keys are not stored. `signer`: signs the stored specification (the data with
    which the conversation is created). `slots`: limits how many conversations run at the same time; None
    means no limit. `delegation`: the functions that start sub-agents and child conversations. `git`: the
    state of the git repository, for the model's prompt; None if it is not known.
    """
    check_safeguards(request)
    agent = Agent.model_validate(request.agent)
    parse_hooks(request.hook_config)
    secrets = secrets or Secrets()
    secrets.update({**secrets_of(agent), **request.secrets})
    named = request.model_dump(include={"title", "tags"})
    request = request.model_copy(update=secrets.masker.value(named))
    spec = Spec.of(conversation_id or request.conversation_id or uuid4(), request, agent, git)
    Toolbox(spec, agent, directory, secrets, delegation)
    spec.working_dir.mkdir(parents=True, exist_ok=True)
    log = EventLog(directory, create=True, signer=signer)
    if log.get_meta("spec") is not None:
        log.close()
        raise FileExistsError(str(directory))
    log.set_meta(SECRETS, orjson.dumps(secrets.keepable()).decode())
    keep(log, key_encryption, agent, secrets)
    log.set_spec(spec.model_dump_json())
    return ConversationEngine(directory, log, spec, agent, client, slots, secrets, delegation, key_encryption)


def open_conversation(
    directory: Path,
    client: LLMClient,
    *,
    agent: Agent | None = None,
    slots: RunSlots | None = None,
    secrets: Secrets | None = None,
    delegation: Delegation = ALONE,
    key_encryption: KeyEncryption | None = None,
    signer: SpecSigner = UNSIGNED,
) -> ConversationEngine:
    """Loads the conversation that is stored in `directory`, in its last state, and returns its engine. The
    API keys are taken from `agent` if it is given, otherwise from encrypted storage.

    `signer` checks the signature of the stored specification (the data with which the conversation was
    created). For the other arguments, see `create_conversation`. Raises LogMissingError if there is no
    conversation. Raises LogInUseError if another process has loaded the conversation. Raises SpecChangedError
    if another program has changed the stored specification.
    """
    log = EventLog(directory, signer=signer)
    try:
        spec = _read_spec(log, directory)
        known = agent or Agent.model_validate(spec.agent)
        stored, secrets = recall(log, key_encryption), secrets or Secrets()
        secrets.restore(stored.secrets if stored else {})
        opened = ConversationEngine(
            directory, log, spec, known, client, slots, secrets, delegation, key_encryption
        )
        if agent is None and opened.state.agent is not None:
            opened.run_context.agent = Agent.model_validate(opened.state.agent)
        if agent is None and stored is not None:
            opened.keys.fill(Agent.model_validate(stored.agent))
        if agent is not None or (
            stored is not None and key_encryption is not None and key_encryption.is_renewing
        ):
            opened.keys.keep()
    except BaseException:
        # Without this, the log would stay locked and every later attempt would fail.
        log.close()
        raise
    if any(one.restoring is not None for one in opened.checkpoints.made):
        opened.background.begin(complete(opened.run_context, opened.checkpoints), "complete rewind")
    return opened


def _read_spec(log: EventLog, directory: Path) -> Spec:
    stored = log.spec()
    if stored is None:
        raise LogMissingError(str(directory))
    return Spec.model_validate_json(stored)

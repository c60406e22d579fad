"""Stores the API keys of a conversation in encrypted form in its log file, apart from the events, so that the
keys are available after a restart of the server.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_jsonable_python

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.conversation.unmasked_keys import revealed
from agent_runtime.events.base import JsonObject
from agent_runtime.secrets.registry import Secrets

logger = logging.getLogger(__name__)

_META = "sealed_keys"


@dataclass(frozen=True)
class KeyEncryption:
    """The functions that encrypt and decrypt the API keys that are stored on disk.

    `encrypt`: encrypts a text. `decrypt`: decrypts a text; returns None if the text was encrypted with an
    unknown key.

    `is_renewing`: True if there are older encryption keys besides the current one. The API keys of a
    conversation are then encrypted again, with the current key, when the conversation is loaded.
    """

    encrypt: Callable[[str], str]
    decrypt: Callable[[str], str | None]
    is_renewing: bool = False


class StoredKeys(BaseModel):
    """The API keys and secrets of one conversation, as they are before encryption. The whole object is
    encrypted and then stored.

    `agent`: the agent's configuration with its keys in clear text. `secrets`: the source of each secret (a
    fixed value or a URL), with values in clear text.
    """

    model_config = ConfigDict(frozen=True)

    agent: JsonObject
    secrets: dict[str, JsonObject]


def keep(log: EventLog, key_encryption: KeyEncryption | None, agent: Agent, secrets: Secrets) -> None:
    """Encrypts the API keys in `agent` and the values in `secrets`, and stores them in the conversation's log
    file. They replace the keys and values that were stored before. Stores nothing if `key_encryption` is
    None, which means that encryption is not available.
    """
    if key_encryption is None:
        return
    shown = revealed(agent)
    # Skill files may be large, and they contain no keys.
    (shown.get("agent_context") or {}).pop("skill_files", None)
    keys = StoredKeys(agent=to_jsonable_python(shown), secrets=secrets.revealed())
    log.set_meta(_META, key_encryption.encrypt(keys.model_dump_json()))


def recall(log: EventLog, key_encryption: KeyEncryption | None) -> StoredKeys | None:
    """Decrypts and returns the API keys and secrets that were stored for a conversation. Returns None if
    nothing is stored, or if the stored text cannot be decrypted or parsed.
    """
    encrypted = log.get_meta(_META) if key_encryption is not None else None
    if key_encryption is None or encrypted is None:
        return None
    text = key_encryption.decrypt(encrypted)
    if text is None:
        logger.warning("the keys of a conversation were sealed with another OH_SECRET_KEY: they are lost")
        return None
    try:
        return StoredKeys.model_validate_json(text)
    except ValidationError:
        logger.warning("the sealed keys of a conversation have another form than expected: they are lost")
        return None

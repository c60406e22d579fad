"""With what this server seals the specifications of its conversations."""

from agent_runtime.conversation.event_log.spec_seal import SpecSeal
from agent_runtime.server.config import Config


def spec_seal_of(config: Config) -> SpecSeal:
    """With the keys that it was handed; without one it neither seals nor checks."""
    keys = [bytes.fromhex(key.get_secret_value()) for key in config.spec_seal_keys]
    return SpecSeal(keys, takes_unsealed=config.takes_unsealed_specs)

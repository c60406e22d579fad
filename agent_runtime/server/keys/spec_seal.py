"""The seal that this server puts on the specifications of its conversations."""

from agent_runtime.conversation.event_log.spec_seal import SpecSeal
from agent_runtime.server.config import Config


def spec_seal_of(config: Config) -> SpecSeal:
    """Returns the seal with the keys of the configuration. Without keys it neither seals nor checks."""
    keys = [bytes.fromhex(key.get_secret_value()) for key in config.spec_seal_keys]
    return SpecSeal(keys, takes_unsealed=config.takes_unsealed_specs)

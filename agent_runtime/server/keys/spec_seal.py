"""Creates the signer that protects the stored specifications of conversations against changes. A signature is
a keyed checksum, called "seal".
"""

from agent_runtime.conversation.event_log.spec_seal import SpecSeal
from agent_runtime.server.config import Config


def spec_seal_of(config: Config) -> SpecSeal:
    """Returns the signer with the keys of the configuration. Without keys the signer neither signs nor checks
    specifications.
    """
    keys = [bytes.fromhex(key.get_secret_value()) for key in config.spec_seal_keys]
    return SpecSeal(keys, takes_unsealed=config.takes_unsealed_specs)

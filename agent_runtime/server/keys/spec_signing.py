"""Creates the object that signs the stored specifications of conversations (the data with which each
conversation was created), so that changes by other programs are detected. A signature is a keyed checksum.
"""

from agent_runtime.conversation.event_log.spec_signature import SpecSigner
from agent_runtime.server.config import Config


def spec_signer_of(config: Config) -> SpecSigner:
    """Returns the object that signs the specifications of conversations (the data with which each
    conversation was created) and checks these signatures. The object uses the keys of the configuration.
    Without keys, it adds no signatures and checks no signatures.
    """
    keys = [bytes.fromhex(key.get_secret_value()) for key in config.spec_seal_keys]
    return SpecSigner(keys, takes_unsigned=config.takes_unsealed_specs)

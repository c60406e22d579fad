"""The keys that an agent server receives at its start, before any command runs."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class FirstKeys(BaseModel):
    """The session key and the keys that seal the specifications of conversations.

    spec_seal_keys: keys as hexadecimal digits, newest first.
    takes_unsealed_specs: whether specifications without a seal are accepted, as conversations from before
    seals existed have none.
    """

    model_config = ConfigDict(frozen=True)

    session_key: str
    spec_seal_keys: Sequence[str] = ()
    takes_unsealed_specs: bool = True

    @classmethod
    def of(cls, text: str) -> "FirstKeys":
        """Reads the keys from JSON, or from a text that is a session key alone.

        Raises pydantic.ValidationError.
        """
        text = text.strip()
        return cls.model_validate_json(text) if text.startswith("{") else cls(session_key=text)

    def settings(self) -> dict[str, object]:
        """Returns the keys as settings of the agent server, by the names of the settings."""
        return {
            "session_api_keys": [self.session_key],
            "spec_seal_keys": list(self.spec_seal_keys),
            "takes_unsealed_specs": self.takes_unsealed_specs,
        }

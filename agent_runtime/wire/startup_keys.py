"""Contains the keys that an agent server receives at its start, before any command runs."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class FirstKeys(BaseModel):
    """The keys that an agent server receives at its start: its session key and its signing keys. Clients must
    send the session key.

    With the signing keys, the server signs the stored specification of each conversation (the data with which
    the conversation was created). So it detects if another program has changed a specification.
    `spec_seal_keys`: the signing keys as hexadecimal digits, newest first. `takes_unsealed_specs`: whether
    the server accepts specifications without a signature, which older versions have stored.
    """

    model_config = ConfigDict(frozen=True)

    session_key: str
    spec_seal_keys: Sequence[str] = ()
    takes_unsealed_specs: bool = True

    @classmethod
    def of(cls, text: str) -> "FirstKeys":
        """Parses the keys from JSON. A text that does not begin with `{` is used as the session key, without
        signing keys.

        Raises pydantic.ValidationError if the JSON is not valid.
        """
        text = text.strip()
        return cls.model_validate_json(text) if text.startswith("{") else cls(session_key=text)

    def settings(self) -> dict[str, object]:
        """Returns these keys as settings of the agent server, by setting name."""
        return {
            "session_api_keys": [self.session_key],
            "spec_seal_keys": list(self.spec_seal_keys),
            "takes_unsealed_specs": self.takes_unsealed_specs,
        }

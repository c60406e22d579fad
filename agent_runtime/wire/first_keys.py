"""What an agent server is handed at its start, before any command runs beside it."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class FirstKeys(BaseModel):
    """spec_seal_keys: hexadecimal digits, newest first. They seal the specifications of conversations.

    takes_unsealed_specs: its conversations may be from before there were seals.
    """

    model_config = ConfigDict(frozen=True)

    session_key: str
    spec_seal_keys: Sequence[str] = ()
    takes_unsealed_specs: bool = True

    @classmethod
    def of(cls, text: str) -> "FirstKeys":
        """From its JSON, or from a session key alone. Raises pydantic.ValidationError."""
        text = text.strip()
        return cls.model_validate_json(text) if text.startswith("{") else cls(session_key=text)

    def settings(self) -> dict[str, object]:
        """By the names of the agent server's settings."""
        return {
            "session_api_keys": [self.session_key],
            "spec_seal_keys": list(self.spec_seal_keys),
            "takes_unsealed_specs": self.takes_unsealed_specs,
        }

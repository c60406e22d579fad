"""The secrets of one conversation. They are passed to commands as environment variables, and their values are
masked in all output.
"""

import asyncio
import re
from collections.abc import Mapping

from agent_runtime.events.base import JsonObject
from agent_runtime.secrets.masking import Masker
from agent_runtime.secrets.sources import (
    CredentialFor,
    LookupSecret,
    Source,
    no_credential,
    read_sources,
    value_of,
)


class Secrets:
    """The secrets of one conversation, by name. Values are stored only in memory. A client of the agent
    server may replace a value at any time.
    """

    def __init__(self, credential_for: CredentialFor = no_credential) -> None:
        """Creates the object without secrets. `credential_for`: a function that gets a URL and returns the
        credential for it if the URL belongs to the app server; otherwise returns None.

        The credential is sent with the requests that look up the value of a LookupSecret at its URL. It is
        not used if the secret defines its own HTTP headers.
        """
        self.masker = Masker()
        self._sources: dict[str, Source] = {}
        self.credential_for = credential_for

    @property
    def descriptions(self) -> Mapping[str, str | None]:
        return {name: source.description for name, source in self._sources.items()}

    def update(self, given: Mapping[str, object]) -> None:
        """Adds secrets; secrets with the same names are replaced. Raises InvalidSecretError if one secret is
        not valid; in this case no secret is changed.
        """
        sources = read_sources(given)
        for source in sources.values():
            self._learn(source)
        self._sources |= sources

    @property
    def sources(self) -> Mapping[str, Source]:
        return self._sources

    def adopt(self, other: "Secrets") -> None:
        """Adds the secrets of another conversation; secrets with the same names are replaced. All values that
        the other conversation masks at this moment are also masked in this conversation. This includes old
        values that were replaced.
        """
        for source in other.sources.values():
            self._learn(source)
        self.masker.learn(other.masker.values)
        self._sources |= other.sources

    def keepable(self) -> JsonObject:
        """Returns the names, descriptions and URLs of the secrets, without the values. These data may be
        written to disk without encryption.
        """
        return {name: source.keepable() for name, source in self._sources.items()}

    def revealed(self) -> dict[str, JsonObject]:
        """Returns all secrets with their values in clear text. The caller must encrypt this data before it is
        stored.
        """
        return {name: source.revealed() for name, source in self._sources.items()}

    def restore(self, stored: Mapping[str, object]) -> None:
        """Restores the secrets of a conversation from stored data: with their values (from `revealed`), or
        only with their names, descriptions and URLs (from `keepable`). A secret that this object already
        contains is not replaced.
        """
        sources = read_sources(stored)
        for source in sources.values():
            self._learn(source)
        self._sources = {**sources, **self._sources}

    async def for_command(self, text: str) -> dict[str, str]:
        """Returns the environment variables for a shell command: the names and values of the secrets that the
        command uses. A secret is used if its name occurs in the command as a whole word; upper and lower case
        count as equal. `text`: the command. Raises SecretUnavailableError if a value cannot be obtained.
        """
        named = [name for name in self._sources if _occurs(name, text)]
        values = await asyncio.gather(
            *(value_of(name, self._sources[name], self.credential_for) for name in named)
        )
        # Before a command can print them.
        self.masker.learn(values)
        return dict(zip(named, values, strict=True))

    def _learn(self, source: Source) -> None:
        if isinstance(source, LookupSecret):
            self.masker.learn(value.get_secret_value() for value in source.headers.values())
        elif source.value is not None:
            self.masker.learn([source.value.get_secret_value()])


def _occurs(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", text, re.IGNORECASE) is not None

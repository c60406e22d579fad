"""What a repository brings that would run: shown to a person, and run only with their consent."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject

OfferKind = Literal["setup_script", "git_hook", "hooks", "mcp_server", "sub_agent", "plugin"]
OfferHash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class OfferedFile(BaseModel):
    """A file that would run, or that decides what runs. path: relative to the repository.

    text: its content; null if it is no text, or too long to be read by anybody.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    sha256: OfferHash
    size: int = Field(description="Bytes")
    text: str | None = None


class Offer(BaseModel):
    """One thing that would run. It is known by kind, path and name; its hash says which version it is.

    definition: the part of the file at `path` that is meant, where it is not all of it. runs: the commands
    in it, for people. files: all that the hash stands for, beside the definition. left_out: what of it is not
    understood, and so not used. problem: why it cannot be consented to.
    """

    model_config = ConfigDict(frozen=True)

    kind: OfferKind
    path: str
    name: str
    hash: OfferHash
    runs: list[str] = []
    definition: JsonObject | None = None
    files: list[OfferedFile] = []
    left_out: list[str] = []
    problem: str | None = None

    @classmethod
    def of(
        cls,
        kind: OfferKind,
        path: str,
        name: str,
        *,
        files: list[OfferedFile],
        definition: JsonObject | None = None,
        runs: list[str] | None = None,
        left_out: Sequence[str] = (),
        problem: str | None = None,
    ) -> Self:
        """With the hash of it."""
        said = [kind, path, name, definition, sorted((file.path, file.sha256) for file in files)]
        digest = hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return cls(
            kind=kind,
            path=path,
            name=name,
            hash=digest,
            runs=runs or [],
            definition=definition,
            files=files,
            left_out=list(left_out),
            problem=problem,
        )


class OffersRequest(BaseModel):
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class OffersResponse(BaseModel):
    """consented: the hashes of those that a conversation has taken up."""

    offers: list[Offer]
    consented: list[str] = []


class ConsentRequest(BaseModel):
    """What the user allows to run, by the hashes of what they were shown."""

    hashes: Annotated[list[OfferHash], Field(min_length=1, max_length=200)]

"""The models of project executables (called `offers` in the JSON of the API). A project executable is a part
of a repository that could run programs: a script, a hook, an MCP server, a sub-agent or a plugin. It runs
only after the user has seen it and has consented.
"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import JsonObject

ExecutableKind = Literal["setup_script", "git_hook", "hooks", "mcp_server", "sub_agent", "plugin"]
ExecutableHash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ExecutableFile(BaseModel):
    """A file that belongs to a project executable, which is a part of a repository that runs only with the
    user's consent. The file itself runs, or it decides what runs. `path`: relative to the repository.

    `text`: the file's content; null if the file is not text, or is too long to be shown.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    sha256: ExecutableHash
    size: int = Field(description="Bytes")
    text: str | None = None


class ProjectExecutable(BaseModel):
    """One part of a repository that runs only with a user's consent, such as a hook or an MCP server. Kind,
    path and name identify the executable; the hash identifies its version.

    `path`: the file that defines the executable, or the directory of a plugin. `definition`: the part of this
    file that is about the executable, as JSON; null if the whole file or plugin is the definition. `runs`:
    the commands in the definition, as shown to users. `files`: the files that the hash covers, in addition to
    the definition. `left_out`: the parts of the definition that Slipway does not understand and therefore
    does not use. `problem`: the reason why a user cannot consent; null if consent is possible.
    """

    model_config = ConfigDict(frozen=True)

    kind: ExecutableKind
    path: str
    name: str
    hash: ExecutableHash
    runs: list[str] = []
    definition: JsonObject | None = None
    files: list[ExecutableFile] = []
    left_out: list[str] = []
    problem: str | None = None

    @classmethod
    def of(
        cls,
        kind: ExecutableKind,
        path: str,
        name: str,
        *,
        files: list[ExecutableFile],
        definition: JsonObject | None = None,
        runs: list[str] | None = None,
        left_out: Sequence[str] = (),
        problem: str | None = None,
    ) -> Self:
        """Creates a project executable (a part of a repository that runs only with the user's consent).
        Computes its hash from kind, path, name, definition and files.
        """
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


class ExecutablesRequest(BaseModel):
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class ExecutablesResponse(BaseModel):
    """The reply of the routes for the executables of a project: parts that run only with the user's consent,
    such as hooks and MCP servers. `offers`: the executables. `consented`: the hashes of the executables that
    the conversation uses. `name_taken`: the hashes of MCP servers that the conversation does not use because
    another of its MCP servers has the same name.
    """

    offers: list[ProjectExecutable]
    consented: list[str] = []
    name_taken: list[str] = []


class ConsentRequest(BaseModel):
    """The request body of POST /api/conversations/{id}/consent, by which the user allows executables to run.
    An executable is a part of a project that runs only with the user's consent, such as a hook. `hashes`: the
    hashes of the executables that the user was shown and allows. `project_dir`: the directory of the
    additional project that contains the executables; null for the project where the agent works.
    """

    hashes: Annotated[list[ExecutableHash], Field(min_length=1, max_length=200)]
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class ProjectConsent(BaseModel):
    """The user's consent for one additional project of a conversation: the hashes of the executables (parts
    of the project such as hooks and MCP servers) that may run. `project_dir`: one of the directories in
    `further_projects` of the agent's configuration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_dir: str = Field(min_length=1, max_length=4096)
    hashes: list[ExecutableHash] = Field(max_length=200)

"""Combines the project executables of a conversation's repositories with the user's decisions about them.
Project executables are hooks, setup scripts, MCP servers and other programs that a repository contains; they
run only if the user allows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import ExecutableHash, ExecutableKind, ExecutablesResponse, ProjectExecutable
from app_server.conversations.repositories.workplaces import Checkout
from app_server.http.strict_body import StrictBody
from app_server.trust_grants import service as consents
from app_server.trust_grants.models import Decision, TrustGrant

LOADABLE_KINDS: frozenset[ExecutableKind] = frozenset(("hooks", "mcp_server", "sub_agent", "plugin"))
"""The kinds of project executables that are loaded into the conversation. Executables of the other kinds,
such as setup scripts, prepare the files of the conversation.
"""


class ExecutableInfo(BaseModel):
    """A project executable of a repository (hook, setup script, MCP server …) and the user's decision about
    its present version.

    approved: the earlier version that the user allowed last. It is given only if the user has not decided
    about the present version yet, so that the user can compare the two. Otherwise, and if no earlier version
    was allowed, it is null.

    is_loaded: whether the conversation has loaded the executable; null for executables that are not loaded
    but run once, such as setup scripts. is_name_taken: true for an MCP server that the conversation does not
    use because another of its MCP servers has the same name.
    """

    offer: ProjectExecutable
    state: Literal["pending", "allowed", "refused"]
    approved: ProjectExecutable | None = None
    is_loaded: bool | None = None
    is_name_taken: bool = False


class FurtherConsent(BaseModel):
    """The project executables of one further folder of a conversation, with the user's decisions. This is a
    folder above the agent's working folder, or the root of a repository besides the first one.

    directory: the name of the repository's directory, followed by the path of the folder in the repository.
    The executables run in this folder. repository: the identity of the repository, such as
    `github.com/owner/name`, followed by the same path. The user's decisions are stored under it.
    """

    directory: str
    repository: str
    items: list[ExecutableInfo]


class ConversationConsent(BaseModel):
    """The project executables (hooks, setup scripts, MCP servers …) of a conversation's repositories, with
    the user's decisions.

    items: the executables of the agent's working folder, which is usually the root of the first repository.
    directory: the name of the repository's directory, followed by the path of this folder in the repository.
    repository: the first repository's identity, such as `github.com/owner/name`, followed by the same path;
    the user's decisions are stored under it. further: the conversation's other folders with executables.
    """

    directory: str
    repository: str
    items: list[ExecutableInfo]
    further: list[FurtherConsent] = []


class AnswerExecutables(StrictBody):
    """The request body with which the user allows or refuses project executables of a conversation. `allow`
    and `refuse`: the hashes of these executables.

    `repository`: the decision applies only to executables in this folder; the value is the field `directory`
    of ConversationConsent or FurtherConsent. If null, it applies in all folders of the conversation that have
    an executable with one of these hashes.
    """

    allow: list[ExecutableHash] = Field(default=[], max_length=200)
    refuse: list[ExecutableHash] = Field(default=[], max_length=200)
    repository: str | None = Field(default=None, max_length=255)


class RunSetupScript(StrictBody):
    """The request body that runs a repository's setup script. hash: the hash of the script version that the
    user has seen. repository: the directory of the script's repository; null for the first repository.
    """

    hash: ExecutableHash
    repository: str | None = Field(default=None, max_length=255)


NEAREST: frozenset[ExecutableKind] = frozenset(("setup_script", "git_hook"))
"""The kinds of executables of which only one is used for a repository. If several folders contain such
executables, the one in the folder nearest to the agent's working folder is used.
"""


@dataclass(frozen=True)
class TrustDecisions:
    """The user's decisions about the project executables (hooks, setup scripts, MCP servers …) of one
    repository.
    """

    consents: Sequence[TrustGrant]

    def of(self, executable: ProjectExecutable) -> Decision | None:
        return next((each.decision for each in self.consents if each.hash == executable.hash), None)

    def allows(self, executable: ProjectExecutable) -> bool:
        return executable.problem is None and self.of(executable) is Decision.ALLOWED

    def approved_before(self, executable: ProjectExecutable) -> ProjectExecutable | None:
        """Returns the earlier version of this executable that the user allowed last, so that the user can
        compare it with the present version. `executable`: the present version.

        Returns None if the user has already decided about the present version, or has allowed no earlier
        version.
        """
        if self.of(executable) is not None:
            return None
        key = (executable.kind, executable.path, executable.name)
        allowed = (each for each in self.consents if each.decision is Decision.ALLOWED)
        found = next((each for each in allowed if (each.kind, each.path, each.name) == key), None)
        return ProjectExecutable.model_validate(found.offer) if found else None


@dataclass(frozen=True)
class CheckoutExecutables:
    """The project executables (hooks, setup scripts, MCP servers …) in one folder of a conversation, and the
    user's decisions about them.
    """

    checkout: Checkout
    executables: Sequence[ProjectExecutable]
    decisions: TrustDecisions


def without_outer(
    found: Sequence[tuple[Checkout, Sequence[ProjectExecutable]]],
) -> list[tuple[Checkout, list[ProjectExecutable]]]:
    """Returns the project executables of each folder, but in each repository only the innermost setup script
    and Git hook. If a folder has a setup script, the setup scripts of the folders above it are left out. The
    same rule applies to Git hooks.

    `found`: the folders with their executables; a folder comes before the folders that contain it.
    """
    remaining: list[tuple[Checkout, list[ProjectExecutable]]] = []
    for checkout, executables in found:
        replaced = {
            executable.kind
            for inner, nearer in remaining
            if inner.folder and checkout.contains(inner.directory)
            for executable in nearer
        }
        remaining.append((checkout, [one for one in executables if one.kind not in NEAREST & replaced]))
    return remaining


async def decisions_of(session: AsyncSession, user_id: UUID, repository: str) -> TrustDecisions:
    return TrustDecisions(await consents.of_repository(session, user_id, repository))


def show(found: ExecutablesResponse, decisions: TrustDecisions) -> list[ExecutableInfo]:
    """Returns the project executables of one repository with the user's decisions, as models of the API.
    `found`: the executables, as the agent server has reported them. `decisions`: what the user has allowed
    and refused in this repository.
    """
    return [
        ExecutableInfo(
            offer=executable,
            state=(decisions.of(executable) or "pending"),
            approved=decisions.approved_before(executable),
            is_loaded=executable.hash in found.consented if executable.kind in LOADABLE_KINDS else None,
            is_name_taken=executable.hash in found.name_taken,
        )
        for executable in found.offers
    ]

"""Combines the project executables of a conversation's repositories with the user's decisions about them.
Project executables are hooks, setup scripts, MCP servers and other programs that a repository contains; they
run only if the user allows it. In this code, such an executable is called an offer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import Offer, OfferHash, OfferKind, OffersResponse
from app_server.conversations.repositories.workplaces import Checkout
from app_server.trust_grants import service as consents
from app_server.trust_grants.models import Decision, TrustGrant

JOINING: frozenset[OfferKind] = frozenset(("hooks", "mcp_server", "sub_agent", "plugin"))
"""Kinds of offers that are loaded into the conversation. The other kinds prepare its workspace."""


class OfferInfo(BaseModel):
    """A project executable of a repository (hook, setup script, MCP server …) and the user's decision about
    it.

    approved: the version of the executable that the user allowed last; only set if the user has not decided
    about the present version. is_loaded: whether the conversation has loaded the executable; null for
    scripts, because the stages of the start report them. is_name_taken: true for an MCP server that the
    conversation does not use because another of its MCP servers has the same name.
    """

    offer: Offer
    state: Literal["pending", "allowed", "refused"]
    approved: Offer | None = None
    is_loaded: bool | None = None
    is_name_taken: bool = False


class FurtherConsent(BaseModel):
    """The project executables of one further repository of a conversation, with the user's decisions. A
    further repository is a repository besides the first one.

    directory: the name of the repository's directory, in which the executables run; it lies beside the
    directory of the first repository. repository: the identity of the repository under which the user's
    decisions are stored.
    """

    directory: str
    repository: str
    items: list[OfferInfo]


class ConversationConsent(BaseModel):
    """The project executables (hooks, setup scripts, MCP servers …) of a conversation's repositories, with
    the user's decisions.

    items: the executables of the first repository. directory: the name of its directory. repository: the
    identity of the first repository, under which the user's decisions are stored. further: the further
    repositories that contain executables.
    """

    directory: str
    repository: str
    items: list[OfferInfo]
    further: list[FurtherConsent] = []


class AnswerOffers(BaseModel):
    """The request body with which the user allows or refuses project executables of a conversation. The
    executables are named by their hashes.

    repository: the directory of the repository that contains the executables. null means every repository of
    the conversation in which an executable has one of these hashes.
    """

    allow: list[OfferHash] = Field(default=[], max_length=200)
    refuse: list[OfferHash] = Field(default=[], max_length=200)
    repository: str | None = Field(default=None, max_length=255)


class RunSetupScript(BaseModel):
    """The request body that runs a repository's setup script. hash: the hash of the script version that the
    user has seen. repository: the directory of the script's repository; null for the first repository.
    """

    hash: OfferHash
    repository: str | None = Field(default=None, max_length=255)


NEAREST: frozenset[OfferKind] = frozenset(("setup_script", "git_hook"))
"""Kinds of offers of which a repository has one at most: that of the folder nearest to the agent's."""


@dataclass(frozen=True)
class Word:
    """The user's decisions about the project executables (hooks, setup scripts, MCP servers …) of one
    repository.
    """

    consents: Sequence[TrustGrant]

    def of(self, offer: Offer) -> Decision | None:
        return next((each.decision for each in self.consents if each.hash == offer.hash), None)

    def allows(self, offer: Offer) -> bool:
        return offer.problem is None and self.of(offer) is Decision.ALLOWED

    def approved_before(self, offer: Offer) -> Offer | None:
        """Returns the version of this project executable that the user allowed last. Returns None if the user
        has already decided about the present version, or has never allowed an earlier version.
        """
        if self.of(offer) is not None:
            return None
        place = (offer.kind, offer.path, offer.name)
        allowed = (each for each in self.consents if each.decision is Decision.ALLOWED)
        found = next((each for each in allowed if (each.kind, each.path, each.name) == place), None)
        return Offer.model_validate(found.offer) if found else None


@dataclass(frozen=True)
class Offered:
    """The project executables (hooks, setup scripts, MCP servers …) in one folder of a conversation, and the
    user's decisions about them.
    """

    checkout: Checkout
    offers: Sequence[Offer]
    word: Word


def without_outer(
    found: Sequence[tuple[Checkout, Sequence[Offer]]],
) -> list[tuple[Checkout, list[Offer]]]:
    """Returns the project executables of each folder, without setup scripts and Git hooks that an inner
    folder replaces. An inner folder is a folder inside another folder, nearer to the agent's working folder.
    `found`: the folders with their executables, in the order of projects_of.
    """
    kept: list[tuple[Checkout, list[Offer]]] = []
    for checkout, offers in found:
        replaced = {
            offer.kind
            for inner, nearer in kept
            if inner.folder and checkout.contains(inner.directory)
            for offer in nearer
        }
        kept.append((checkout, [one for one in offers if one.kind not in NEAREST & replaced]))
    return kept


async def word_of(session: AsyncSession, user_id: UUID, repository: str) -> Word:
    return Word(await consents.of_repository(session, user_id, repository))


def show(found: OffersResponse, word: Word) -> list[OfferInfo]:
    """Returns the project executables of one repository with the user's decisions, as models of the API.
    `found`: the executables. `word`: the decisions.
    """
    return [
        OfferInfo(
            offer=offer,
            state=(word.of(offer) or "pending"),
            approved=word.approved_before(offer),
            is_loaded=offer.hash in found.consented if offer.kind in JOINING else None,
            is_name_taken=offer.hash in found.name_taken,
        )
        for offer in found.offers
    ]

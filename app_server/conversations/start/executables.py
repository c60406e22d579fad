"""Combines the project executables of a conversation's repositories (setup scripts, hooks, MCP servers and
others, named "offers" in the API) with the user's decisions about them.
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
    """An offer in a reply (a project executable of a repository, such as a hook) with the user's decision
    about it.

    `approved`: the version that the user allowed last, if the user has not decided about the present version.
    `is_loaded`: whether the conversation has loaded the offer; null for scripts, whose results are in the
    stages of the start. `is_name_taken`: whether the offer is an MCP server that is not used because another
    MCP server of the conversation has the same name.
    """

    offer: Offer
    state: Literal["pending", "allowed", "refused"]
    approved: Offer | None = None
    is_loaded: bool | None = None
    is_name_taken: bool = False


class FurtherConsent(BaseModel):
    """The offers (project executables, such as hooks) of a further repository of a conversation, with the
    user's decisions. They run in the directory of this repository.

    `directory`: the name of the repository's directory. `repository`: the key under which the user's
    decisions are stored.
    """

    directory: str
    repository: str
    items: list[OfferInfo]


class ConversationConsent(BaseModel):
    """The reply with the offers (project executables, such as hooks) of a conversation's repositories and the
    user's decisions about them.

    `directory`: the name of the first repository's directory. `repository`: the key under which the user's
    decisions are stored. `items`: the offers of the first repository. `further`: the further repositories
    that have offers.
    """

    directory: str
    repository: str
    items: list[OfferInfo]
    further: list[FurtherConsent] = []


class AnswerOffers(BaseModel):
    """The request body with the hashes of the offers (project executables, such as hooks) that the user
    allows and refuses.

    `repository`: the directory of the repository to which the decisions apply; null means all repositories of
    the conversation.
    """

    allow: list[OfferHash] = Field(default=[], max_length=200)
    refuse: list[OfferHash] = Field(default=[], max_length=200)
    repository: str | None = Field(default=None, max_length=255)


class RunSetupScript(BaseModel):
    """The request body that runs a setup script again. `hash`: the hash of the script version that the user
    has seen. `repository`: the directory of the repository with the script; null means the first repository.
    """

    hash: OfferHash
    repository: str | None = Field(default=None, max_length=255)


NEAREST: frozenset[OfferKind] = frozenset(("setup_script", "git_hook"))
"""Kinds of offers of which a repository has one at most: that of the folder nearest to the agent's."""


@dataclass(frozen=True)
class Word:
    """The user's decisions about the offers (project executables, such as hooks) of one repository."""

    consents: Sequence[TrustGrant]

    def of(self, offer: Offer) -> Decision | None:
        return next((each.decision for each in self.consents if each.hash == offer.hash), None)

    def allows(self, offer: Offer) -> bool:
        return offer.problem is None and self.of(offer) is Decision.ALLOWED

    def approved_before(self, offer: Offer) -> Offer | None:
        """Returns the earlier version of this offer that the user allowed last. Returns None if the user has
        decided about the present version, or has never allowed an earlier version.
        """
        if self.of(offer) is not None:
            return None
        place = (offer.kind, offer.path, offer.name)
        allowed = (each for each in self.consents if each.decision is Decision.ALLOWED)
        found = next((each for each in allowed if (each.kind, each.path, each.name) == place), None)
        return Offer.model_validate(found.offer) if found else None


@dataclass(frozen=True)
class Offered:
    """The project executables (such as hooks) of one folder of a conversation, and the user's decisions about
    them.
    """

    checkout: Checkout
    offers: Sequence[Offer]
    word: Word


def without_outer(
    found: Sequence[tuple[Checkout, Sequence[Offer]]],
) -> list[tuple[Checkout, list[Offer]]]:
    """Returns the offers of each folder, without those that an inner folder replaces. An inner folder is a
    folder nearer to the agent's working folder. `found`: the folders, in the order of projects_of, with their
    offers.
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
    """Returns the offers of one repository in the form of the API, with the user's decisions. `found`: the
    offers as the agent server reports them. `word`: the decisions.
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

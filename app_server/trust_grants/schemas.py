"""Schemas of the replies of the routes for a user's decisions about what repositories may run."""

from pydantic import BaseModel, ConfigDict

from agent_runtime.wire import Offer, OfferKind
from app_server.core.database import Id, Timestamp
from app_server.trust_grants.models import Decision


class ConsentInfo(BaseModel):
    """A decision about one version of an offer. `hash`: the hash of the content at `path`."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    repository: str
    kind: OfferKind
    path: str
    name: str
    hash: str
    decision: Decision
    offer: Offer
    created_at: Timestamp

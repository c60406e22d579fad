"""The last line of agents' commits, and the choices of users for it."""

from collections.abc import Mapping
from enum import StrEnum


class CommitTrailer(StrEnum):
    """The last line of an agent's commit. NONE: the commit says nothing about the agent."""

    NONE = "none"
    CO_AUTHORED_BY = "co_authored_by"
    ASSISTED_BY = "assisted_by"


def trailer_for(trailers: Mapping[str, str] | None, identity: str | None) -> CommitTrailer | None:
    """Returns the user's choice for one repository. Returns None if the user has made none.

    `trailers`: the choices by the identity of repositories, `host/owner/name`. Upper and lower case are the
    same.
    """
    if not trailers or identity is None:
        return None
    chosen = {name.casefold(): word for name, word in trailers.items()}.get(identity.casefold())
    return None if chosen is None else CommitTrailer(chosen)

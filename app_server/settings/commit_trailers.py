"""The setting for the last line of agents' commit messages, which says that an agent made the commit."""

from collections.abc import Mapping
from enum import StrEnum


class CommitTrailer(StrEnum):
    """The last line of an agent's commit. NONE: the commit says nothing about the agent."""

    NONE = "none"
    CO_AUTHORED_BY = "co_authored_by"
    ASSISTED_BY = "assisted_by"


def trailer_for(trailers: Mapping[str, str] | None, identity: str | None) -> CommitTrailer | None:
    """Returns the kind of last line that the user has chosen for one repository. Returns None if the user has
    chosen none.

    `trailers`: the user's choices, keyed by repository, `host/owner/name`. Upper and lower case do not
    matter.
    """
    if not trailers or identity is None:
        return None
    chosen = {name.casefold(): word for name, word in trailers.items()}.get(identity.casefold())
    return None if chosen is None else CommitTrailer(chosen)

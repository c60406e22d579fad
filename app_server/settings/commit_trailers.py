"""The setting for the last line of agents' commit messages, which says that an agent made the commit."""

from collections.abc import Mapping
from enum import StrEnum


class CommitTrailer(StrEnum):
    """The kind of last line in an agent's commit message. NONE: no such line, so the commit does not name the
    agent.
    """

    NONE = "none"
    CO_AUTHORED_BY = "co_authored_by"
    ASSISTED_BY = "assisted_by"


def trailer_for(trailers: Mapping[str, str] | None, identity: str | None) -> CommitTrailer | None:
    """Returns the kind of last line in commit messages that the user has chosen for one repository. Returns
    None if the user has chosen none.

    `trailers`: the user's choices, keyed by repository, `host/owner/name`. Upper and lower case do not
    matter.
    """
    if not trailers or identity is None:
        return None
    chosen = {name.casefold(): word for name, word in trailers.items()}.get(identity.casefold())
    return None if chosen is None else CommitTrailer(chosen)

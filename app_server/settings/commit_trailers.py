"""The setting that chooses the last line of agents' commit messages. This line, called the trailer, says that
an agent has made the commit. The user can choose to have no such line.
"""

from collections.abc import Mapping
from enum import StrEnum


class CommitTrailer(StrEnum):
    """The kind of the last line in agents' commit messages, which names the agent. CO_AUTHORED_BY,
    ASSISTED_BY: the line begins with `Co-authored-by:` or `Assisted-by:`. NONE: there is no such line.
    """

    NONE = "none"
    CO_AUTHORED_BY = "co_authored_by"
    ASSISTED_BY = "assisted_by"


def trailer_for(trailers: Mapping[str, str] | None, identity: str | None) -> CommitTrailer | None:
    """Returns the kind of last line in commit messages that the user has chosen for one repository. Returns
    None if the user has chosen none for this repository.

    `trailers`: the user's choices. The key is the repository, as `host/owner/name`. `identity`: the
    repository, also as `host/owner/name`; None means no repository, so that the result is None. Upper and
    lower case do not matter.
    """
    if not trailers or identity is None:
        return None
    chosen = {name.casefold(): word for name, word in trailers.items()}.get(identity.casefold())
    return None if chosen is None else CommitTrailer(chosen)

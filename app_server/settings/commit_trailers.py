"""The setting that chooses the last line of agents' commit messages. This line, called the trailer, says that
an agent has made the commit. The user can choose to have no such line.
"""

from collections.abc import Mapping
from enum import StrEnum


class CommitTrailer(StrEnum):
    """The kind of the last line in agents' commit messages, which names the agent.

    CO_AUTHORED_BY: the line begins with `Co-authored-by:`. ASSISTED_BY: the line begins with `Assisted-by:`.
    NONE: there is no such line.
    """

    NONE = "none"
    CO_AUTHORED_BY = "co_authored_by"
    ASSISTED_BY = "assisted_by"


def trailer_for(trailers: Mapping[str, str] | None, identity: str | None) -> CommitTrailer | None:
    """Returns which trailer (a line at the end of commit messages) the user has chosen for one repository.
    Returns None if the user has chosen none for this repository, or if `identity` is None.

    `trailers`: the user's choices by repository. `identity`: the repository, or None if there is no
    repository. Repositories have the form `host/owner/name`; upper and lower case are not distinguished.
    """
    if not trailers or identity is None:
        return None
    chosen = {name.casefold(): word for name, word in trailers.items()}.get(identity.casefold())
    return None if chosen is None else CommitTrailer(chosen)

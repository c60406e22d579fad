"""Further repositories of a conversation, besides its first repository. Each is checked out in a separate
directory beside the directory of the first repository.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from app_server.core.errors import BadRequest
from app_server.git.address import Address, parse_address

MAX_MORE = 9


class AnotherRepository(BaseModel):
    """A further repository in a start request, besides the first one. `repository`: a URL, or a name such as
    `owner/name`. A URL that contains a password is refused; git uses the token that the user has saved for
    the git host. `branch`: null means the default branch.
    """

    model_config = ConfigDict(extra="forbid")

    repository: Annotated[str, Field(min_length=1, max_length=2000)]
    branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None


class KeptRepository(AnotherRepository):
    """A further repository of a conversation (besides the first one), as stored in the database. `directory`:
    the name of its directory, which is beside the directory of the first repository. `base_commit`: the
    commit at which the agent's work began; null if the repository is not checked out yet or was empty.
    """

    directory: str
    base_commit: str | None = None

    @property
    def address(self) -> Address:
        return parse_address(self.repository, self.git_provider)

    @classmethod
    def all_of(cls, stored: Iterable[Any]) -> list[Self]:
        """Returns the further repositories of a conversation (all but the first one), read from their JSON
        values in the database.
        """
        return [cls.model_validate(one) for one in stored]


def with_directories(
    more: Sequence[AnotherRepository], addresses: Sequence[Address], first: Address | None
) -> list[KeptRepository]:
    """Returns the further repositories of a new conversation (all but the first one), each with the name of
    its directory. Repositories with the same name get different directory names.

    `addresses`: the addresses of `more`, in the same order. `first`: the address of the conversation's first
    repository; None if it has no repository. Raises BadRequest `more_without_first` if there is no first
    repository. Raises BadRequest `repository_has_password` if a URL contains a password. Raises BadRequest
    `repository_twice` if a repository is named twice.
    """
    if not more:
        return []
    if first is None:
        raise BadRequest(
            "Further repositories need a first one.",
            code="more_without_first",
            fix="Name the first one in selected_repository.",
        )
    taken, known = {first.name}, {first.identity}
    repositories: list[KeptRepository] = []
    for one, address in zip(more, addresses, strict=True):
        if address.has_credentials:
            raise BadRequest(
                "The URL of a further repository may not contain a password.",
                code="repository_has_password",
                fix="Save a token for its git host under Settings, Git hosts.",
            )
        if address.identity in known:
            raise BadRequest(f"{address.identity} is named twice.", code="repository_twice")
        known.add(address.identity)
        directory = next(name for name in _names(address.name) if name not in taken)
        taken.add(directory)
        named = one.model_dump() | {"repository": address.public_url, "directory": directory}
        repositories.append(KeptRepository.model_validate(named))
    return repositories


def _names(name: str) -> Iterable[str]:
    yield name
    yield from (f"{name}-{number}" for number in range(2, MAX_MORE + 3))


def words_for_agent(repositories: Sequence[KeptRepository]) -> str | None:
    """Returns the text that tells the agent which further repositories (besides the first one) the
    conversation has, and in which directories they are. Returns None if there are no further repositories.
    """
    if not repositories:
        return None
    lines = "\n".join(
        f"- `../{one.directory}`: {one.repository}" + (f", branch `{one.branch}`" if one.branch else "")
        for one in repositories
    )
    return (
        "This conversation works on several repositories. The first one is the working directory. The others "
        f"lie beside it:\n{lines}\nInstructions and skills whose name begins with the name of a directory "
        "belong to that repository alone. Work on each of them in its own directory, commit and push there. "
        "Open one pull request for each that you have changed, and name its directory when you do."
    )

"""The interface that the clients of all git hosts implement. Each kind of git host (provider) has one class
that implements the interface.

A client only converts between the host's JSON and the types in `schemas.py`. A client stores nothing and does
not read or change conversations. If a call fails, all methods raise the errors that the module `errors.py`
lists.
"""

from collections.abc import Sequence
from typing import Protocol, cast

from app_server.git.providers import GitProvider
from app_server.git_hosts.schemas import (
    Check,
    Comment,
    HostBranch,
    HostImage,
    HostRepository,
    HostTask,
    HostUser,
    Issue,
    ItemKind,
    NewPullRequest,
    OpenedPullRequest,
    Organization,
    PullRequest,
    PullRequestChanges,
    PullRequestState,
    Review,
    ReviewThread,
    Slice,
)


class GitHostClient(Protocol):
    """A client that calls the API of a git host with the token of one user. Arguments of several methods:
    `page`: None for the first page, otherwise `Slice.next_page`. `limit`: the wanted number of items on a
    page, 1 to 100; a host may return fewer.
    """

    provider: GitProvider
    max_body_characters: int
    """The maximum length of the body of a pull request or comment at this git host. The client cuts a longer
    body and adds a sentence that says so.
    """

    async def me(self) -> HostUser:
        """Returns the owner of the token: a user of the git host."""
        ...

    async def add_signing_key(self, title: str, public_key: str) -> bool:
        """Adds an OpenSSH public key to the account of the token's user. The git host uses the key only to
        verify signatures of commits. `title`: the name under which the host shows the key. Returns True if
        the key was added, False if the account has the key already. Raises `git_host_cannot` if the host's
        API cannot add keys.
        """
        ...

    async def organizations(self, page: str | None = None, limit: int = 100) -> Slice[Organization]:
        """Returns the organisations with repositories that the token's user may see. An Organization stands
        for what the git host calls an organisation, group, workspace or project.
        """
        ...

    async def repositories(
        self,
        query: str = "",
        *,
        organization: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[HostRepository]:
        """Returns repositories of the token's user. The repository with the latest change comes first, if the
        host can sort by time. Otherwise the order depends on the host.

        `query`: a part of the name; an empty text means all repositories. `organization`: the `id`
        of the Organization whose repositories are wanted; None means all organisations.
        """
        ...

    async def repository(self, repository: str) -> HostRepository:
        """Returns the repository with this full name, such as `owner/name`."""
        ...

    async def branches(
        self, repository: str, query: str = "", *, page: str | None = None, limit: int = 30
    ) -> Slice[HostBranch]:
        """Returns branches of the repository whose name contains `query`."""
        ...

    async def file(self, repository: str, path: str, ref: str | None = None) -> bytes | None:
        """Returns the content of a file in the repository. Returns None if there is no such file or if it is
        larger than 1 MiB. `ref`: a branch, tag or commit; None means the default branch.
        """
        ...

    async def may_push(self, repository: str, login: str) -> bool:
        """Returns whether a user of the git host may push to the repository. `login`: the user's name at the
        host; at Bitbucket Cloud the user's account id or `{uuid}`.
        """
        ...

    async def create_pull_request(self, repository: str, new: NewPullRequest) -> OpenedPullRequest:
        """Opens a pull request in `repository`, which contains the target branch, and returns it. If an open
        pull request for the same source and target branch exists, returns the existing one. So the call can
        be repeated.
        """
        ...

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        """Returns one pull request. Its field `mergeability` is set if the git host knows whether the pull
        request can be merged.
        """
        ...

    async def pull_requests(
        self,
        repository: str,
        *,
        state: PullRequestState = PullRequestState.OPEN,
        head: str | None = None,
        page: str | None = None,
        limit: int = 30,
    ) -> Slice[PullRequest]:
        """Returns pull requests of the repository, the newest first. `head`: the name of a branch of the
        repository; only pull requests from this branch are returned. None means all branches.
        """
        ...

    async def update_pull_request(
        self, repository: str, number: int, changes: PullRequestChanges
    ) -> PullRequest:
        """Changes fields of a pull request and returns the changed pull request."""
        ...

    async def comments(
        self, repository: str, kind: ItemKind, number: int, *, page: str | None = None
    ) -> Slice[Comment]:
        """Returns the comments on an issue or a pull request, the oldest first."""
        ...

    async def add_comment(self, repository: str, kind: ItemKind, number: int, body: str) -> Comment:
        """Adds a comment to an issue or a pull request, and returns the comment."""
        ...

    async def edit_comment(
        self, repository: str, kind: ItemKind, number: int, comment_id: str, body: str
    ) -> Comment:
        """Replaces the text of a comment that the token's user has written, and returns the comment."""
        ...

    async def review_threads(self, repository: str, number: int) -> Sequence[ReviewThread]:
        """Returns the review threads of a pull request, at most 200."""
        ...

    async def reviews(self, repository: str, number: int) -> Sequence[Review]:
        """Returns the latest review of each reviewer of a pull request."""
        ...

    async def reply_to_thread(self, repository: str, number: int, thread_id: str, body: str) -> Comment:
        """Adds a comment to a review thread of a pull request, and returns the comment."""
        ...

    async def resolve_thread(self, repository: str, number: int, thread_id: str) -> None:
        """Marks a review thread as resolved. Raises `git_host_cannot` if the git host cannot mark threads as
        resolved.
        """
        ...

    async def issue(self, repository: str, number: int) -> Issue:
        """Returns the issue with this number."""
        ...

    async def checks(self, repository: str, pull_request: PullRequest) -> Sequence[Check]:
        """Returns the checks (such as CI jobs) of the pull request's last commit, at most 200."""
        ...

    async def check_log(self, repository: str, check_id: str) -> str:
        """Returns the end of the log of a check, such as a CI job: at most 64 KiB. `check_id`: the field `id`
        of the check.
        """
        ...

    async def suggested_tasks(self) -> Sequence[HostTask]:
        """Returns at most 50 tasks for the token's user: this user's open pull requests with conflicts,
        failing checks or unresolved comments, and open issues that are assigned to the user.
        """
        ...


class ImageHost(Protocol):
    """A client of a git host whose API accepts images for the descriptions of pull requests."""

    async def attach_image(self, repository: str, number: int, image: HostImage) -> str:
        """Uploads an image to the git host and returns the address of the image. Does not change the text of
        the pull request: the caller puts the address into the Markdown text of the description. `number`: the
        number of the pull request. Every person who may read the repository can see the image.
        """
        ...


_IMAGE_HOSTS = frozenset((GitProvider.GITLAB, GitProvider.FORGEJO))


def image_host(client: GitHostClient) -> ImageHost | None:
    """Returns the client as an ImageHost if the git host's API accepts images. Otherwise returns None."""
    return cast("ImageHost", client) if client.provider in _IMAGE_HOSTS else None

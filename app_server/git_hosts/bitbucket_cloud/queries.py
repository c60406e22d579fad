"""Builds queries in Bitbucket Cloud's query language. Does no I/O.

Source: https://developer.atlassian.com/cloud/bitbucket/rest/intro/#filtering.
"""

from app_server.git_hosts.schemas import NewPullRequest, PullRequestState

_STATES = {
    PullRequestState.OPEN: 'state="OPEN"',
    PullRequestState.MERGED: 'state="MERGED"',
    PullRequestState.CLOSED: '(state="DECLINED" OR state="SUPERSEDED")',
}


def quoted(text: str) -> str:
    """Returns the text as a string literal of Bitbucket's query language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def name_contains(query: str) -> str | None:
    return f"name~{quoted(query)}" if query else None


def pull_requests(repository: str, state: PullRequestState, head: str | None) -> str:
    """Returns the query for the pull requests of the repository with this state. `head`: the name of a
    branch; then only pull requests from this branch are found. None means all branches.
    """
    if head is None:
        return _STATES[state]
    own = f"source.branch.name={quoted(head)} AND source.repository.full_name={quoted(repository)}"
    return f"{_STATES[state]} AND {own}"


def open_one(repository: str, new: NewPullRequest) -> str:
    """Returns the query that finds an open pull request of the repository with the same source branch and
    target branch as `new`.
    """
    source = new.head_repository or repository
    base = f"destination.branch.name={quoted(new.base)}"
    return f"{pull_requests(source, PullRequestState.OPEN, new.head)} AND {base}"

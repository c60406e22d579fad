"""The GraphQL queries for data that GitHub's REST API does not have. Does no I/O. Source:
https://docs.github.com/en/graphql.
"""

from typing import Any

from app_server.core.errors import AppError
from app_server.git_hosts import errors
from app_server.git_hosts.schemas import Comment, HostTask, ReviewThread, TaskKind

MAX_THREADS = 100

THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved path line viewerCanResolve
        comments(first: 50) { nodes { databaseId body createdAt url author { login } } } } } } } }
"""

RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"

REPLY = """
mutation($id: ID!, $body: String!) {
  addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $id, body: $body}) {
    comment { databaseId body createdAt url author { login } } } }
"""

READY = (
    "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
)
DRAFT = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }"

TASKS = """
query {
  pulls: search(type: ISSUE, first: 30, query: "is:pr is:open author:@me archived:false sort:updated") {
    nodes { ... on PullRequest { number title mergeable repository { nameWithOwner }
      reviewThreads(first: 50) { nodes { isResolved } }
      commits(last: 1) { nodes { commit { statusCheckRollup { state } } } } } } }
  issues: search(type: ISSUE, first: 30, query: "is:issue is:open assignee:@me archived:false sort:updated") {
    nodes { ... on Issue { number title repository { nameWithOwner } } } } }
"""

_STATUSES = {"NOT_FOUND": 404, "FORBIDDEN": 403, "INSUFFICIENT_SCOPES": 403}
_WAIT_SECONDS = 60.0
_FAILED = frozenset(("FAILURE", "ERROR"))


def error_of(host: str, said: list[dict[str, Any]]) -> AppError:
    """Returns the error to raise for a reply of GitHub's GraphQL API that has the HTTP status 200 but
    contains errors. `said`: the list `errors` of the reply.
    """
    kinds = [str(one.get("type")) for one in said]
    if "RATE_LIMITED" in kinds:
        return errors.rate_limited(host, _WAIT_SECONDS)
    status = next((_STATUSES[kind] for kind in kinds if kind in _STATUSES), 422)
    return errors.refused(host, status, "; ".join(str(one.get("message", "")) for one in said))


def threads(found: dict[str, Any]) -> list[ReviewThread]:
    return [
        ReviewThread(
            id=node["id"],
            path=node.get("path"),
            line=node.get("line"),
            is_resolved=node["isResolved"],
            can_be_resolved=bool(node.get("viewerCanResolve")),
            comments=tuple(comment(one) for one in node["comments"]["nodes"]),
        )
        for node in found["nodes"]
    ]


def comment(found: dict[str, Any]) -> Comment:
    return Comment(
        id=str(found["databaseId"]),
        author=(found.get("author") or {}).get("login") or "ghost",
        body=found["body"],
        created_at=found["createdAt"],
        url=found["url"],
    )


def tasks(found: dict[str, Any]) -> list[HostTask]:
    pulls = [_task(_kind(node), node) for node in found["pulls"]["nodes"] if node and _kind(node) is not None]
    return pulls + [_task(TaskKind.OPEN_ISSUE, node) for node in found["issues"]["nodes"] if node]


def _kind(pull: dict[str, Any]) -> TaskKind | None:
    if pull["mergeable"] == "CONFLICTING":
        return TaskKind.MERGE_CONFLICTS
    commits = pull["commits"]["nodes"]
    rollup = (commits[0]["commit"]["statusCheckRollup"] or {}) if commits else {}
    if rollup.get("state") in _FAILED:
        return TaskKind.FAILING_CHECKS
    if any(not thread["isResolved"] for thread in pull["reviewThreads"]["nodes"]):
        return TaskKind.UNRESOLVED_COMMENTS
    return None


def _task(kind: TaskKind | None, node: dict[str, Any]) -> HostTask:
    return HostTask(
        kind=kind or TaskKind.OPEN_PR,
        repository=node["repository"]["nameWithOwner"],
        number=node["number"],
        title=node["title"],
    )

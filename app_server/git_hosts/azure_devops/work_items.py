"""Reads and writes work items of Azure DevOps, which Slipway presents as issues with comments. The texts of a
work item are HTML, or Markdown if the work item states so.
"""

from typing import Any

from app_server.git_hosts.azure_devops.api import AzureApi, AzureRepository
from app_server.git_hosts.azure_devops.parsing import login
from app_server.git_hosts.connection import Query
from app_server.git_hosts.plain_text import from_html, to_html
from app_server.git_hosts.schemas import Comment, HostTask, Issue, TaskKind

COMMENTS = "7.1-preview.4"
MAX_TASKS = 30

_CLOSED = ("Closed", "Done", "Completed", "Removed", "Inactive")
_TEXTS = ("System.Description", "Microsoft.VSTS.TCM.ReproSteps", "Microsoft.VSTS.Common.AcceptanceCriteria")
_MINE = (
    "SELECT [System.Id] FROM WorkItems WHERE [System.AssignedTo] = @Me AND [System.State] NOT IN "
    "('Closed', 'Done', 'Completed', 'Removed', 'Inactive') ORDER BY [System.ChangedDate] DESC"
)


async def issue(api: AzureApi, repository: AzureRepository, number: int) -> Issue:
    found = (await api.get(f"{repository.project_path}/wit/workitems/{number}", {"$expand": "all"})).json()
    fields = found["fields"]
    texts = [_text(found, name) for name in _TEXTS]
    assigned = fields.get("System.AssignedTo")
    return Issue(
        number=found["id"],
        title=fields["System.Title"],
        body="\n\n".join(text for text in texts if text),
        url=_url(api, repository, number),
        is_open=fields.get("System.State") not in _CLOSED,
        author=_person(fields.get("System.CreatedBy")),
        labels=tuple(one.strip() for one in (fields.get("System.Tags") or "").split(";") if one.strip()),
        assignees=(_person(assigned),) if assigned else (),
    )


async def comments(
    api: AzureApi, repository: AzureRepository, number: int, page: str | None
) -> tuple[list[Comment], str | None]:
    query: Query = {"order": "asc", "$top": 100, "continuationToken": page}
    found = (await api.get(_comments(repository, number), query, COMMENTS)).json()
    rows = [_comment(api, repository, number, one) for one in found["comments"] if not one.get("isDeleted")]
    return rows, found.get("continuationToken")


async def write_comment(
    api: AzureApi, repository: AzureRepository, number: int, body: str, comment_id: str | None = None
) -> Comment:
    """Adds a comment to a work item, or replaces the text of a comment. Returns the comment. `number`: the
    number of the work item. `body`: the whole text of the comment; it is sent as HTML that shows the same
    text. `comment_id`: the comment whose text is replaced; None means that a new comment is added.
    """
    path = _comments(repository, number)
    text = {"text": to_html(body)}
    if comment_id is None:
        found = await api.send("POST", path, text, COMMENTS)
    else:
        found = await api.send("PATCH", f"{path}/{int(comment_id)}", text, COMMENTS)
    return _comment(api, repository, number, found)


async def assigned(api: AzureApi, organization: str, repositories: dict[str, str]) -> list[HostTask]:
    """Returns the open work items of an organisation that are assigned to the token's user, as tasks that
    Slipway suggests to this user.

    `repositories`: maps the name of a project to the name of one of its repositories. A work item belongs to
    a project and not to a repository, but a HostTask must name a repository. Therefore the task names the
    repository in `repositories`. Work items of projects that are not in `repositories` are left out.
    """
    found = await api.send(
        "POST", f"/{organization}/_apis/wit/wiql", {"query": _MINE}, query={"$top": MAX_TASKS}
    )
    ids = [one["id"] for one in found.get("workItems") or ()][:MAX_TASKS]
    if not ids:
        return []
    wanted = {"ids": ids, "fields": ["System.Title", "System.TeamProject"], "errorPolicy": "omit"}
    rows = (await api.send("POST", f"/{organization}/_apis/wit/workitemsbatch", wanted))["value"]
    return [
        HostTask(
            kind=TaskKind.OPEN_ISSUE,
            repository=repositories[row["fields"]["System.TeamProject"]],
            number=row["id"],
            title=row["fields"]["System.Title"],
        )
        for row in rows
        if row and row["fields"]["System.TeamProject"] in repositories
    ]


def _text(found: dict[str, Any], name: str) -> str:
    text = found["fields"].get(name) or ""
    formats = found.get("multilineFieldsFormat") or {}
    return text if formats.get(name) == "markdown" else from_html(text)


def _comment(api: AzureApi, repository: AzureRepository, number: int, found: dict[str, Any]) -> Comment:
    text = found.get("text") or ""
    return Comment(
        id=str(found["id"]),
        author=login(found.get("createdBy")),
        body=text if found.get("format") == "markdown" else from_html(text),
        created_at=found.get("createdDate"),
        url=f"{_url(api, repository, number)}#{found['id']}",
    )


def _comments(repository: AzureRepository, number: int) -> str:
    return f"{repository.project_path}/wit/workItems/{number}/comments"


def _url(api: AzureApi, repository: AzureRepository, number: int) -> str:
    return f"{api.web(repository).rpartition('/_git/')[0]}/_workitems/edit/{number}"


def _person(found: Any) -> str:
    # Old servers answer "Name <address>".
    return found if isinstance(found, str) else login(found)

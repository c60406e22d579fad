"""Reads the checks of pull requests at Azure DevOps: builds, statuses from other programs, and policies that
require builds or statuses.
"""

from typing import Any

from app_server.core.errors import AppError
from app_server.git_hosts.azure_devops.api import PREVIEW, AzureApi, AzureRepository
from app_server.git_hosts.azure_devops.parsing import HEADS
from app_server.git_hosts.connection import all_at_once
from app_server.git_hosts.plain_text import end_of_log
from app_server.git_hosts.schemas import Check, CheckState, PullRequest

MAX_LOG_BYTES = 32 * 1024 * 1024

_BUILD = "build:"
_RESULTS = {
    "succeeded": CheckState.PASSED,
    "partiallySucceeded": CheckState.FAILED,
    "failed": CheckState.FAILED,
    "canceled": CheckState.SKIPPED,
}
_STATES = {
    "succeeded": CheckState.PASSED,
    "failed": CheckState.FAILED,
    "error": CheckState.FAILED,
    "notApplicable": CheckState.SKIPPED,
}
_EVALUATIONS = {
    "approved": CheckState.PASSED,
    "rejected": CheckState.FAILED,
    "broken": CheckState.FAILED,
    "notApplicable": CheckState.SKIPPED,
}


async def checks(api: AzureApi, azure_repository: AzureRepository, pull: PullRequest) -> list[Check]:
    repository = (await api.get(azure_repository.path)).json()
    builds = await _builds(api, azure_repository, pull, repository["id"])
    statuses = await api.all(f"{azure_repository.path}/pullRequests/{pull.number}/statuses")
    found = {
        **{one.name: one for one in map(_of_build, builds)},
        **{one.name: one for one in _latest(statuses)},
    }
    for one in await evaluations(api, azure_repository, repository["project"]["id"], pull.number):
        if (check := _of_policy(one)) and check.name not in found:
            found[check.name] = check
    return list(found.values())


async def evaluations(
    api: AzureApi, azure_repository: AzureRepository, project_id: str, number: int
) -> list[dict[str, Any]]:
    """Returns the policy evaluations of a pull request, as the JSON objects that Azure DevOps sends. A policy
    is a rule of the target branch, such as a required build. An evaluation states whether the pull request
    fulfils the policy. Returns an empty list if the request fails, for example because the token may not read
    the policies.

    `project_id`: Azure DevOps' id of the project. `number`: the number of the pull request.
    """
    query = {"artifactId": f"vstfs:///CodeReview/CodeReviewId/{project_id}/{number}"}
    try:
        return await api.all(f"{azure_repository.project_path}/policy/evaluations", query, PREVIEW)
    except AppError:
        return []


def is_blocking(evaluation: dict[str, Any]) -> bool:
    """Returns whether the policy of this evaluation now prevents the merge of the pull request."""
    configuration = evaluation.get("configuration") or {}
    is_on = configuration.get("isEnabled", True) and configuration.get("isBlocking")
    return bool(is_on) and evaluation.get("status") not in {"approved", "notApplicable"}


async def log(api: AzureApi, azure_repository: AzureRepository, check_id: str) -> str:
    """Returns the end of a build's log as text, at most 64 KiB. A build consists of tasks (its steps), and
    each task has a log. The logs of the last five failed tasks are joined. If no task failed, the logs of the
    last five tasks are joined. `check_id`: the `id` of the Check that represents the build.
    """
    path = f"{azure_repository.project_path}/build/builds/{int(check_id.removeprefix(_BUILD))}"
    records = (await api.get(f"{path}/timeline")).json().get("records") or []
    tasks = [one for one in records if one.get("log") and one.get("type") == "Task"]
    tasks.sort(key=lambda one: one.get("finishTime") or "")
    wanted = [one for one in tasks if one.get("result") == "failed"] or tasks
    logs = await all_at_once(
        api.raw(f"{path}/logs/{one['log']['id']}", {}, "text/plain", MAX_LOG_BYTES) for one in wanted[-5:]
    )
    return end_of_log(b"\n".join(one for one in logs if one))


async def _builds(
    api: AzureApi, azure_repository: AzureRepository, pull: PullRequest, repository_id: str
) -> list[dict[str, Any]]:
    """Returns one build of each pipeline that has built the pull request or its last commit. A build of the
    pull request is preferred to a build of the commit, and a newer build to an older build. `repository_id`:
    Azure DevOps' id of the repository.
    """
    path = f"{azure_repository.project_path}/build/builds"
    newest: dict[str, str | int | None] = {"queryOrder": "queueTimeDescending", "$top": 50}
    found = await api.all(path, {**newest, "branchName": f"refs/pull/{pull.number}/merge"})
    if pull.head_repository == azure_repository.full_name:
        own = {"branchName": HEADS + pull.head, "repositoryId": repository_id, "repositoryType": "TfsGit"}
        of_branch = await api.all(path, {**newest, **own})
        found += [one for one in of_branch if one.get("sourceVersion") == pull.head_commit]
    by_pipeline: dict[int, dict[str, Any]] = {}
    for one in found:
        by_pipeline.setdefault(one["definition"]["id"], one)
    return list(by_pipeline.values())


def _of_build(found: dict[str, Any]) -> Check:
    is_done = found.get("status") == "completed"
    return Check(
        id=f"{_BUILD}{found['id']}",
        name=found["definition"].get("name") or found["buildNumber"],
        state=_RESULTS.get(found.get("result") or "", CheckState.PENDING) if is_done else CheckState.PENDING,
        url=((found.get("_links") or {}).get("web") or {}).get("href"),
        summary=found.get("buildNumber") or "",
    )


def _latest(statuses: list[dict[str, Any]]) -> list[Check]:
    found = {}
    for one in sorted(statuses, key=lambda status: status.get("id") or 0):
        context = one.get("context") or {}
        name = "/".join(word for word in (context.get("genre"), context.get("name")) if word)
        found[name] = Check(
            id=None,
            name=name,
            state=_STATES.get(one.get("state") or "", CheckState.PENDING),
            url=one.get("targetUrl"),
            summary=one.get("description") or "",
        )
    return list(found.values())


def _of_policy(found: dict[str, Any]) -> Check | None:
    """Converts a policy evaluation from Azure DevOps' JSON to a Check, if the policy requires a build or a
    status. Returns None for other policies, such as a required approval.
    """
    configuration = found.get("configuration") or {}
    settings = configuration.get("settings") or {}
    context = found.get("context") or {}
    if "buildDefinitionId" in settings:
        name = context.get("buildDefinitionName") or settings.get("displayName") or "Build"
    elif "statusName" in settings:
        name = "/".join(word for word in (settings.get("statusGenre"), settings["statusName"]) if word)
    else:
        return None
    build = context.get("buildId")
    return Check(
        id=f"{_BUILD}{build}" if build else None,
        name=name,
        state=_EVALUATIONS.get(found.get("status") or "", CheckState.PENDING),
        summary="Required by a policy of the branch.",
    )

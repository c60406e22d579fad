"""A client of Azure DevOps for tests. Its calls are checked against an OpenAPI document of Azure DevOps."""

from typing import Any

from app_server.git_hosts.azure_devops.client import AzureDevOps, azure_devops
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

NAME = "acme/My Project/my repo"


COMMIT = "8e0b45049b6253b8984cde9241830d2851168142"


_V = "api-version!"


_THREADS = "/{organization}/{project}/_apis/git/repositories/{repo}/pullRequests/{number}/threads"


ALSO = {
    "GET /{organization}/_apis/connectionData": (_V,),
    "GET /{organization}/_apis/identities": ("searchFilter!", "filterValue!", _V),
    "GET /{organization}/_apis/permissions/{namespace}/{permission}": ("tokens!", _V),
    "GET /{organization}/_apis/accesscontrollists/{namespace}": (
        "token!",
        "descriptors!",
        "includeExtendedInfo",
        _V,
    ),
    "GET /{organization}/_apis/git/repositories": (_V,),
    "GET /{organization}/_apis/git/pullrequests": (
        "searchCriteria.creatorId",
        "searchCriteria.status",
        "$top",
        _V,
    ),
    f"PATCH {_THREADS}/{{thread}}/comments/{{comment}}": ("content!", f"?{_V}"),
    "GET /{organization}/{project}/_apis/build/builds/{build}/timeline": (_V,),
    "GET /{organization}/{project}/_apis/build/builds/{build}/logs/{log}": (_V,),
    "GET /{organization}/{project}/_apis/wit/workitems/{id}": ("$expand", _V),
    "GET /{organization}/{project}/_apis/wit/workItems/{workItemId}/comments": (
        "order",
        "$top",
        "continuationToken",
        _V,
    ),
    "PATCH /{organization}/{project}/_apis/wit/workItems/{number}/comments/{comment}": ("text!", f"?{_V}"),
    "POST /{organization}/_apis/wit/wiql": ("query!", "?$top", f"?{_V}"),
    "POST /{organization}/_apis/wit/workitemsbatch": ("ids!", "fields", "errorPolicy", f"?{_V}"),
}


ADA: dict[str, Any] = {"id": "a-1", "displayName": "Ada", "uniqueName": "ada@acme.org"}


EVE = changed(ADA, id="e-1", displayName="Eve", uniqueName="eve@acme.org")


IDENTITY: dict[str, Any] = {
    "id": "e-1",
    "descriptor": "claims;eve",
    "providerDisplayName": "Eve",
    "properties": {"Account": {"$type": "System.String", "$value": "eve@acme.org"}},
}


REPOSITORY: dict[str, Any] = {
    "id": "r-1",
    "name": "my repo",
    "project": {"id": "p-1", "name": "My Project", "visibility": "private"},
    "remoteUrl": "https://acme@dev.azure.com/acme/My%20Project/_git/my%20repo",
    "webUrl": "https://dev.azure.com/acme/My%20Project/_git/my%20repo",
    "defaultBranch": "refs/heads/main",
}


PULL: dict[str, Any] = {
    "pullRequestId": 7,
    "repository": REPOSITORY,
    "title": "Fix",
    "description": "Why",
    "status": "active",
    "isDraft": True,
    "sourceRefName": "refs/heads/fix/ä",
    "targetRefName": "refs/heads/main",
    "mergeStatus": "succeeded",
    "createdBy": ADA,
    "lastMergeSourceCommit": {"commitId": COMMIT},
    "labels": [{"id": "l", "name": "bug", "active": True}],
    "reviewers": [changed(EVE, vote=-5), changed(ADA, id="t", uniqueName="team", vote=10, isContainer=True)],
}


def items(*found: Any) -> dict[str, Any]:
    return {"count": len(found), "value": list(found)}


def client(host: HostContract, api_url: str | None = None) -> AzureDevOps:
    return client_of(azure_devops, host, "https://dev.azure.com", api_url=api_url)

"""The operations of Bitbucket's API, written by hand: their parameters, and which fields they require.

The API documents of Atlassian state no licence and are therefore not copied. `HostContract` explains the
notation.
"""

_R = "/repositories/{workspace}/{repo_slug}"
_P = f"{_R}/pullrequests/{{number}}"
_FIELDS = ("title!", "description", "source", "destination", "reviewers", "draft")

CLOUD: dict[str, tuple[str, ...]] = {
    "GET /user": (),
    "GET /user/emails": (),
    "GET /user/workspaces": ("pagelen", "page"),
    "GET /user/workspaces/{workspace}/permissions/repositories": ("q",),
    "GET /workspaces/{workspace}/permissions/repositories/{repo_slug}": ("q",),
    "GET /workspaces/{workspace}/members": ("pagelen", "page"),
    "GET /workspaces/{workspace}/pullrequests/{uuid}": ("state", "page"),
    "GET /repositories/{workspace}": ("role", "q", "sort", "pagelen", "page"),
    f"GET {_R}": (),
    f"GET {_R}/refs/branches": ("q", "sort", "pagelen", "page"),
    f"GET {_R}/refs/tags": ("q", "sort", "pagelen", "page"),
    f"GET {_R}/src/{{commit}}/{{path}}": ("format",),
    f"GET {_R}/pullrequests": ("q", "sort", "pagelen", "page"),
    f"POST {_R}/pullrequests": ("title!", "source!", *_FIELDS[1:2], *_FIELDS[3:]),
    f"GET {_P}": (),
    f"PUT {_P}": _FIELDS,
    f"POST {_P}/decline": (),
    f"GET {_P}/conflicts": (),
    f"GET {_P}/comments": ("pagelen", "sort", "page"),
    f"POST {_P}/comments": ("content!", "parent"),
    f"PUT {_P}/comments/{{comment_id}}": ("content!",),
    f"POST {_P}/comments/{{comment_id}}/resolve": (),
    f"GET {_P}/statuses": ("pagelen", "page"),
    f"GET {_R}/pipelines/{{pipeline}}/steps": ("pagelen", "page"),
    f"GET {_R}/pipelines/{{pipeline}}/steps/{{step}}/log": (),
}

_DC = "/api/latest"
_REPO = f"{_DC}/projects/{{key}}/repos/{{slug}}"
_PULL = f"{_REPO}/pull-requests/{{number}}"
_PAGE = ("start", "limit")

DATA_CENTER: dict[str, tuple[str, ...]] = {
    f"GET {_DC}/application-properties": (),
    f"GET {_DC}/users": (
        "filter",
        "permission.1",
        "permission.1.projectKey",
        "permission.1.repositorySlug",
        *_PAGE,
    ),
    f"GET {_DC}/users/{{name}}": (),
    f"GET {_DC}/projects": _PAGE,
    f"GET {_DC}/repos": ("name", "projectkey", "permission", *_PAGE),
    f"GET {_DC}/dashboard/pull-requests": ("role", "state", *_PAGE),
    f"GET {_REPO}": (),
    f"GET {_REPO}/branches": ("filterText", "orderBy", "details", *_PAGE),
    f"GET {_REPO}/branches/default": (),
    f"GET {_REPO}/raw/{{path}}": ("at",),
    f"GET {_REPO}/pull-requests": ("at", "direction", "state", "order", *_PAGE),
    f"POST {_REPO}/pull-requests": ("title!", "description", "draft", "fromRef!", "toRef!", "reviewers"),
    f"GET {_PULL}": (),
    f"PUT {_PULL}": ("version!", "title!", "description", "toRef", "reviewers", "draft"),
    f"GET {_PULL}/merge": (),
    f"POST {_PULL}/decline": ("?version!",),
    f"POST {_PULL}/reopen": ("?version!",),
    f"GET {_PULL}/activities": _PAGE,
    f"POST {_PULL}/comments": ("text!", "parent"),
    f"GET {_PULL}/comments/{{comment_id}}": (),
    f"PUT {_PULL}/comments/{{comment_id}}": ("version!", "text", "threadResolved"),
    "GET /build-status/latest/commits/{commit}": _PAGE,
    "GET /build-status/latest/commits/stats/{commit}": (),
}

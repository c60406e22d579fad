"""What Bitbucket takes, in our words: the operations, their parameters, and which fields they need.

Atlassian's own documents state no licence and are not here. See `HostContract` for the notation.
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

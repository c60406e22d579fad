"""Converts between the full name of a repository and the path of its clone URL. Does no I/O."""

from urllib.parse import quote, unquote

from app_server.git.providers import GitProvider


def name_in(provider: GitProvider, path: str) -> str:
    """Returns the full name of a repository, in the form of `HostRepository.full_name`. `path`: the path of
    the repository's clone URL, without a final `.git`.

    For Azure DevOps, the path has the form `organization/project/_git/name`, or `organization/_git/name` if
    the project has the same name as the repository. For Bitbucket Data Center, the path has the form
    `scm/PROJECT/name`.
    """
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if provider is GitProvider.AZURE_DEVOPS and "_git" in parts:
        at = parts.index("_git")
        before, name = parts[:at], parts[at + 1 :]
        return "/".join([*before, *(name if len(before) > 1 else name * 2)])
    if provider is GitProvider.BITBUCKET_DATA_CENTER and parts[0] == "scm":
        return "/".join(parts[1:])
    return "/".join(parts)


def path_of(provider: GitProvider, name: str) -> str:
    """Returns the path of a repository's clone URL, without a slash at the beginning. For example,
    `owner/name` becomes `owner/name.git`, and at Azure DevOps `organization/project/name` becomes
    `organization/project/_git/name`. `name`: the full name of the repository.
    """
    path = quote(name.strip("/"))
    if provider is GitProvider.AZURE_DEVOPS:
        before, _, last = path.rpartition("/")
        return f"{before}/_git/{last}"
    return f"scm/{path}.git" if provider is GitProvider.BITBUCKET_DATA_CENTER else f"{path}.git"

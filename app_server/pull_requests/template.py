"""Finds the template that a repository contains for the text of pull requests.

The documentation of each git host says which file names and folders a template can have. Upper and lower case
do not matter. The pages of the documentation are:

- GitHub: "Creating a pull request template for your repository".
- GitLab: "Description templates". Only the template with the name Default is used.
- Azure DevOps: "Improve pull request descriptions using templates".
- Forgejo: "Issue and pull request templates".

Bitbucket stores the template in the settings of the repository, where Slipway cannot read it. So Slipway
finds no template for Bitbucket.
"""

import shlex
from collections.abc import Mapping
from typing import Final

from app_server.conversations.repositories.workplaces import Workplace
from app_server.git.providers import GitProvider

MAX_CHARACTERS: Final = 20_000
_LOOK_SECONDS: Final = 30
_FILES: Final[Mapping[GitProvider, str]] = {
    GitProvider.GITHUB: r"(\.github/|docs/)?pull_request_template(\.md|\.txt)?",
    GitProvider.GITLAB: r"\.gitlab/merge_request_templates/default\.md",
    GitProvider.FORGEJO: r"(\.forgejo/|\.gitea/|\.github/|docs/)?pull_request_template\.md",
    GitProvider.AZURE_DEVOPS: r"(\.azuredevops/|\.vsts/|docs/)?pull_request_template\.(md|txt)",
}


async def template_of(workplace: Workplace, provider: GitProvider) -> str:
    """Returns the repository's template for pull requests, as it was in the commit where the conversation
    began, cut to MAX_CHARACTERS. Returns an empty text if the repository has no template, or if this commit
    is not known. If there are several templates, returns the first one in the order of their paths.
    `workplace`: the repository's directory in the sandbox.
    """
    pattern = _FILES.get(provider)
    if pattern is None or workplace.base_commit is None:
        return ""
    since = shlex.quote(workplace.base_commit)
    # Only the folders that hosts look into are listed, so that a large repository takes no longer.
    script = (
        f"(git ls-tree --name-only {since}; git ls-tree --name-only {since} .github/ .forgejo/ .gitea/ "
        ".gitlab/merge_request_templates/ .azuredevops/ .vsts/ docs/) | "
        f"grep -ixE {shlex.quote(pattern)} | head -n 1 | "
        f'while read -r file; do git cat-file blob {since}:"$file" | head -c {4 * MAX_CHARACTERS}; done'
    )
    output = await workplace.client.execute_command(
        script, cwd=workplace.directory, timeout_seconds=_LOOK_SECONDS
    )
    return (output.stdout or "").strip()[:MAX_CHARACTERS] if output.exit_code == 0 else ""

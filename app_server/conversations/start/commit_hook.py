"""Installs a Git hook in the checkout of a repository in the sandbox. The hook adds a trailer (a last line
such as `Co-authored-by: …`) to each commit message. If the user has not chosen a trailer, a file in the
repository can name it.
"""

from app_server.agent_client.client import AgentClient
from app_server.conversations.start.repository import must_run
from app_server.settings.commit_trailers import CommitTrailer

POLICY_FILE = ".agents/commit-trailer"
"""The path of the file in a repository that says which trailer commit messages get. The file contains one
word: `none`, `co-authored-by` or `assisted-by`.
"""

_HOOK = r"""#!/bin/sh
# Slipway: ends commits with a trailer that names the agent.
hooks="$(cd "$(dirname "$0")" && pwd)"
if [ -x "$hooks/prepare-commit-msg.local" ]; then "$hooks/prepare-commit-msg.local" "$@" || exit; fi
git_dir="$(git rev-parse --git-dir)"
# Commits that are amended or replayed may be those of others. They stay as they are.
if [ "$2" = commit ] || [ -e "$git_dir/CHERRY_PICK_HEAD" ] \
|| [ -d "$git_dir/rebase-merge" ] || [ -d "$git_dir/rebase-apply" ]; then exit 0; fi
trailer=@OWN@
file="$(git rev-parse --show-toplevel)/@FILE@"
if [ -z "$trailer" ] && [ -f "$file" ]
then trailer="$(head -c 100 "$file" | head -n 1 | tr 'A-Z-' 'a-z_' | tr -dc 'a-z_')"; fi
case "${trailer:-@USUAL@}" in
co_authored_by)
[ "$(git config user.email)" != slipway@localhost ] || exit 0
line='Co-authored-by: Slipway <slipway@localhost>' ;;
assisted_by) line='Assisted-by: Slipway' ;;
*) exit 0 ;;
esac
exec git interpret-trailers --in-place --if-exists addIfDifferent --trailer "$line" "$1"
""".rstrip()


async def install_commit_hook(
    client: AgentClient, directory: str, *, usual: CommitTrailer, chosen: CommitTrailer | None
) -> None:
    """Installs a Git hook in the repository at `directory` in the sandbox. The hook adds a trailer (a last
    line such as `Co-authored-by: …`) to the message of each new commit. Does nothing if the project keeps its
    Git hooks in a directory outside of `.git` (setting `core.hooksPath`).

    chosen: the trailer that the user has chosen for this repository. If `chosen` is None, the repository's
    file `.agents/commit-trailer` names the trailer. usual: the trailer that is used if this file is missing
    or empty.

    Raises StartFailure `repository_clone_failed` if the hook cannot be installed.
    """
    hook = _HOOK.replace("@OWN@", chosen or "").replace("@USUAL@", usual).replace("@FILE@", POLICY_FILE)
    await must_run(
        client,
        'hooks="$(git rev-parse --path-format=absolute --git-path hooks)"\n'
        # With core.hooksPath, as husky sets it, the directory is a part of the project and stays as it is.
        'case "$hooks" in "$(git rev-parse --path-format=absolute --git-common-dir)"/*) ;; *) exit 0; esac\n'
        'file="$hooks/prepare-commit-msg"\n'
        'mkdir -p "$hooks"\n'
        # An earlier hook of Slipway is replaced. A hook of the user is kept under another name.
        'if [ -e "$file" ] && ! grep -q "^# Slipway: ends commits" "$file"\n'
        'then mv -f "$file" "$file.local"; fi\n'
        f"cat > \"$file\" <<'END_OF_HOOK'\n{hook}\nEND_OF_HOOK\n"
        'chmod +x "$file"',
        directory,
    )

"""Contains functions that the table of security rules uses. The functions find git commands that affect other
people or uncommitted changes, or that run programs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent_runtime.security import path_policy
from agent_runtime.security.shell.calls import Call, resolve
from agent_runtime.security.shell.words import Word

_FORCING = ("--force", "--mirror", "--delete", "--prune")
_RUNNING_KEYS = re.compile(
    r"(alias\.|core\.(sshcommand|hookspath|fsmonitor|pager|editor|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|pager\."
    r"|diff\.external|(diff|filter|merge)\..*\.(command|textconv|clean|smudge|process|driver)|protocol\.|include(if)?\."
    r"|gpg\.|url\.|sequence\.editor|(diff|merge)tool\.|remote\..*\.(uploadpack|receivepack|proxy|vcs)|interactive\.difffilter|tar\..*\.command|instaweb\.|guitool\.|uploadpack\.|http\.proxy"
    r"|sendemail\.|init\.templatedir|submodule\..*\.update|man\.|web\.|browser\.|trailer\.|receive\.)",
    re.IGNORECASE,
)
_RUNNING_OPTIONS = {
    "clone": ("-u", "--template", "-c", "--config"),
    "difftool": ("-x", "--extcmd"),
    "mergetool": ("-x",),
    "grep": ("-O", "--open-files-in-pager"),
    "archive": ("--exec",),
    "init": ("--template",),
    "push": ("--exec",),
    "ls-remote": ("--exec",),
}
_ADDRESS_KEYS = re.compile(r"remote\.(.*\.(push)?url|pushdefault)|branch\..*\.(push)?remote", re.IGNORECASE)
_PLAIN_VALUES = frozenset({"cat", "true", "less", ":", "false"})
_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})


@dataclass(frozen=True)
class Git:
    subcommand: str
    arguments: tuple[str, ...]
    settings: tuple[str, ...]

    def has(self, *options: str) -> bool:
        letters = {option[1] for option in options if len(option) == 2}
        return any(
            argument.partition("=")[0] in options
            or (re.fullmatch(r"-[A-Za-z]+", argument) and not letters.isdisjoint(argument[1:]))
            for argument in self.arguments
        )


def git_of(call: Call) -> Git:
    words = list(call.texts)
    settings: list[str] = []
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option.startswith("--config-env="):
            settings.append(option.partition("=")[2])
        elif option in _WITH_VALUE and words:
            settings.append(words.pop(0))
    subcommand = words[0] if words else ""
    return Git(subcommand, tuple(words[1:]), tuple(settings))


def is_forced_push(call: Call) -> bool:
    git = git_of(call)
    if git.subcommand == "send-pack":
        return git.has("--force", "--mirror")
    if git.subcommand != "push":
        return False
    forces = git.has("-f", "--force-with-lease", "--force-if-includes", "-d")
    # Git takes long options shortened, too.
    begun = any(long.startswith(word) for word in git.arguments if len(word) > 4 for long in _FORCING)
    return forces or begun or any(word.startswith(("+", ":")) and len(word) > 1 for word in git.arguments)


def rewrites_history(call: Call) -> bool:
    git = git_of(call)
    return git.subcommand in {"filter-branch", "filter-repo", "update-ref"} or (
        git.subcommand == "reflog" and {"expire", "delete"} & set(git.arguments) != set()
    )


def drops_changes(call: Call) -> bool:
    git = git_of(call)
    match git.subcommand:
        case "reset":
            return git.has("--hard", "--merge")
        case "clean":
            return git.has("-f", "--force")
        case "checkout" | "restore" | "switch":
            return "." in git.arguments or git.has("-f", "--force", "--discard-changes")
        case "branch" | "tag":
            return git.has("-D", "--delete", "-d")
        case "stash":
            return bool({"drop", "clear"} & set(git.arguments))
        case _:
            return False


def drops_outside(call: Call, workspace: str) -> bool:
    """Returns whether a git command drops uncommitted changes outside the workspace, as `git -C / clean -fdx`
    does. Such a command is risky, because files outside the workspace may belong to another project.
    """
    if not drops_changes(call):
        return False
    directory = call.directory
    words = list(call.arguments)
    while words and words[0].text.startswith("-"):
        option, is_set, value = words.pop(0).text.partition("=")
        if option in {"-C", "--work-tree"}:
            word = Word(value) if is_set else (words.pop(0) if words else Word("."))
            directory = resolve(word, directory)
        elif option in _WITH_VALUE and not is_set and words:
            words.pop(0)
    work_tree = next((value for name, value in call.command.assigned if name == "GIT_WORK_TREE"), None)
    if work_tree is not None:
        directory = resolve(Word(work_tree, "\0" not in work_tree), directory)
    return directory is not None and not path_policy.is_inside(directory, workspace)


def runs_programs(call: Call) -> bool:
    """Returns whether a git command has settings, options or addresses that make git run other programs."""
    git = git_of(call)
    if git.subcommand == "config" and git.has(
        "--get", "--get-all", "--unset", "-l", "--list", "--get-regexp"
    ):
        return False
    given = [*git.settings, *(git.arguments if git.subcommand == "config" else ())]
    sets = any(_RUNNING_KEYS.match(word) and word.partition("=")[2] not in _PLAIN_VALUES for word in given)
    options = _RUNNING_OPTIONS.get(git.subcommand, ())
    opens = any(word.startswith(options) for word in git.arguments) if options else False
    packs = any(re.search(r"(\A|=)ext::|\A--(upl|rece)", word) for word in (*git.arguments, *git.settings))
    return sets or opens or packs or any(word.startswith("--exec-path=") for word in call.texts)


def pushes_unknown(call: Call) -> bool:
    """Returns whether the command is a `git push` with an argument whose beginning is only known when the
    command runs. This argument could be an option such as `--force`.
    """
    if git_of(call).subcommand != "push":
        return False
    return any(not word.is_known and word.text.startswith("\0") for word in call.arguments)


def names_remote(call: Call) -> bool:
    """Returns whether a git command can send commits to an address that the command itself contains. This is
    the case if it pushes to this address, as in `git push https://…`. It is also the case if it sets the
    address of a remote (a named repository to which later commands can push), as in `git remote add`.
    """
    git = git_of(call)
    if git.subcommand == "remote":
        return bool({"add", "set-url"} & set(git.arguments[:1]))
    if git.subcommand == "config":
        return _gives_address(git.arguments) and any(map(_ADDRESS_KEYS.match, git.arguments))
    return (git.subcommand == "push" and _gives_address(git.arguments)) or any(
        _ADDRESS_KEYS.match(word) and _gives_address([word.partition("=")[2]]) for word in git.settings
    )


def _gives_address(words: Iterable[str]) -> bool:
    return any(re.search(r"://|^[\w.-]+@[\w.-]+:", word) for word in words)


def changes_global_settings(call: Call) -> bool:
    git = git_of(call)
    is_elsewhere = any(re.match(r"(--file=)?(/|~|\.\./)", word) for word in git.arguments)
    reads = git.has("--get", "--get-all", "-l", "--list")
    return git.subcommand == "config" and not reads and (git.has("--global", "--system") or is_elsewhere)


def reaches_remote(call: Call) -> bool:
    return git_of(call).subcommand in {"push", "fetch", "pull", "clone", "send-email"}

"""The table of security rules that say which commands are risky. The order of the rules has no effect."""

import re
from collections.abc import Callable

from agent_runtime.security.rules import (
    containers,
    credential_calls,
    file_effects,
    git_calls,
    hidden_requests,
    network_effects,
)
from agent_runtime.security.rules.code import CODE
from agent_runtime.security.rules.rule import Rule, of
from agent_runtime.security.shell.calls import PRIVILEGED, Call
from agent_runtime.security.shell.texts import fed_text

_DEPLOYS = ("apply", "destroy", "up", "deploy", "import", "taint")
_FORGE_MATTERS = of("delete merge release gist secret repo api ssh-key auth workflow variable")
_PUBLISHES = of("publish push upload unpublish yank dist-tag deprecate owner")
_HARMFUL_SQL = re.compile(
    r"\b(drop\s+(database|schema|table|user)|truncate\s|delete\s+from)|\.drop(Database)?\(|\.deleteMany\(",
    re.IGNORECASE,
)


def _with(*words: str) -> Callable[[Call, str], bool]:
    """Returns a function that tests whether one of the words is among the first two operands (arguments that
    are not options) of a command.
    """
    return lambda call, _: not {word.text for word in call.operands[:2]}.isdisjoint(words)


def _matching(pattern: re.Pattern[str]) -> Callable[[Call, str], bool]:
    """Returns a function that tests if the pattern is in a command's arguments or its standard input."""
    return lambda call, _: any(map(pattern.search, [*call.texts, fed_text(call.command) or ""]))


def _git(test: Callable[[Call], bool]) -> Callable[[Call, str], bool]:
    return lambda call, _: test(call)


def _kills_everything(call: Call, workspace: str) -> bool:
    del workspace
    return "-1" in call.texts[1:] or call.texts[-1:] in (["-1"], ["1"], ["0"])


_FILTERS = frozenset({"cat", "sort", "tac", "rev", "uniq", "tee", "column"})


def _is_fork_bomb(call: Call, workspace: str) -> bool:
    del workspace
    source = call.command.source
    calls_itself = source is not None and source.name == call.name and len(source.words) == 1
    return calls_itself and not call.arguments and call.name not in _FILTERS


_FILES = (
    Rule(
        "delete-tree",
        "HIGH",
        "deletes the whole workspace, or what it lies in",
        of("rm srm"),
        file_effects.deletes_tree,
    ),
    Rule(
        "delete-outside",
        "HIGH",
        "deletes outside the workspace",
        of("rm rmdir unlink srm shred"),
        file_effects.deletes_outside,
    ),
    Rule(
        "delete-in-container",
        "HIGH",
        "deletes files of another container",
        of("rm srm shred"),
        file_effects.deletes_in_container,
    ),
    Rule(
        "delete-unknown",
        "UNKNOWN",
        "deletes what shows only when it runs",
        of("rm srm"),
        file_effects.deletes_unknown,
    ),
    Rule("find-delete", "HIGH", "deletes all it finds", of("find"), file_effects.finds_and_deletes),
    Rule("shred", "HIGH", "destroys the contents of files for good", of("shred srm")),
    Rule("write-outside", "HIGH", "writes outside the workspace", test=file_effects.writes_outside),
    Rule("runs-later", "HIGH", "writes what git runs by itself later", test=file_effects.writes_hooks),
    Rule("device", "HIGH", "writes to a device", test=file_effects.overwrites_device),
    Rule(
        "disk",
        "HIGH",
        "changes disks or file systems",
        of("mkfs mke2fs mkswap fdisk sfdisk parted wipefs blkdiscard cryptsetup lvremove vgremove"),
    ),
    Rule("disk", "HIGH", "changes disks or file systems", test=lambda call, _: call.name.startswith("mkfs.")),
    Rule("credentials", "HIGH", "touches files that hold credentials", test=file_effects.reads_credentials),
    Rule("credentials", "HIGH", "shows credentials", test=credential_calls.shows_credentials),
    Rule(
        "set-user-id",
        "HIGH",
        "lets a program run with the rights of another user",
        of("chmod install"),
        file_effects.gives_all_rights,
    ),
)

_SYSTEM = (
    Rule("privileged", "HIGH", "runs with the rights of another user", PRIVILEGED),
    Rule(
        "rights",
        "HIGH",
        "changes who may do what on this machine",
        of(
            "useradd userdel usermod groupadd passwd chpasswd visudo setcap chroot nsenter "
            "capsh adduser deluser"
        ),
    ),
    Rule(
        "kernel",
        "HIGH",
        "changes the running system",
        of("mount umount losetup insmod rmmod modprobe sysctl iptables ip6tables nft ufw swapoff kexec"),
    ),
    Rule("power", "HIGH", "stops the machine", of("shutdown reboot halt poweroff telinit")),
    Rule(
        "kernel",
        "HIGH",
        "changes the running system",
        of("ip"),
        _with("add", "del", "set", "flush", "replace"),
    ),
    Rule("power", "HIGH", "stops the machine", of("systemctl"), _with("poweroff", "reboot", "halt")),
    Rule("power", "HIGH", "stops the machine", of("init"), _with("0", "6")),
    Rule(
        "service",
        "HIGH",
        "changes the machine's services",
        of("systemctl service launchctl rc-update"),
        _with("stop", "disable", "mask", "kill", "enable", "start", "restart", "poweroff", "reboot", "load"),
    ),
    Rule(
        "schedule",
        "HIGH",
        "leaves something behind that runs later",
        of("crontab at batch systemd-run"),
        lambda call, _: not call.has("-l"),
    ),
    Rule("kill-all", "HIGH", "ends processes it has not started", of("kill"), _kills_everything),
    Rule("kill", "MEDIUM", "ends processes by name", of("killall pkill")),
    Rule("fork-bomb", "HIGH", "starts processes without end", test=_is_fork_bomb),
    Rule(
        "container",
        "HIGH",
        "opens the machine to a container",
        of("docker podman nerdctl"),
        containers.opens_machine,
    ),
    Rule(
        "container-delete",
        "HIGH",
        "deletes containers, images or volumes",
        of("docker podman nerdctl"),
        _with("prune", "rm", "rmi"),
    ),
    Rule(
        "delete-volumes",
        "HIGH",
        "deletes volumes of containers, with the data in them",
        of("docker podman nerdctl docker-compose"),
        containers.deletes_volumes,
    ),
    Rule(
        "packages",
        "MEDIUM",
        "installs software",
        of("pip pip3 npm pnpm yarn gem cargo uv poetry"),
        _with("install", "add", "remove", "i", "upgrade"),
    ),
)

_NETWORK = (
    Rule(
        "fetch-to-exec",
        "HIGH",
        "runs a program that it fetches or decodes first",
        test=network_effects.runs_fetched,
    ),
    Rule("upload", "HIGH", "sends files or output to another machine", test=network_effects.sends_files),
    Rule(
        "upload",
        "HIGH",
        "sends files or output to another machine",
        of("scp rsync sftp rclone"),
        network_effects.copies_away,
    ),
    Rule(
        "upload",
        "HIGH",
        "sends files or output to another machine",
        of("aws gsutil gcloud az mc"),
        lambda call, _: bool({"cp", "sync", "mv", "rb", "rm", "delete"} & set(call.texts)),
    ),
    Rule(
        "upload",
        "HIGH",
        "sends files or output to another machine",
        of("mail mailx sendmail mutt ftp tftp croc wormhole sftp rclone"),
    ),
    Rule(
        "upload",
        "HIGH",
        "sends files or output to another machine",
        of("curl wget aria2c"),
        hidden_requests.sends_lines,
    ),
    Rule(
        "hidden-request",
        "UNKNOWN",
        "takes from a file what it fetches, sends and writes",
        of("curl wget aria2c"),
        hidden_requests.is_configured,
    ),
    Rule(
        "environment",
        "HIGH",
        "sends the environment to another machine",
        test=network_effects.pipes_environment,
    ),
    Rule(
        "credentials",
        "HIGH",
        "sends credentials to another program",
        network_effects.FETCHERS,
        network_effects.feeds_credentials,
    ),
    Rule(
        "name-lookup",
        "HIGH",
        "tells a name server the output of a command",
        of("dig nslookup host ping drill getent traceroute"),
        network_effects.asks_names_of_secrets,
    ),
    Rule(
        "metadata",
        "HIGH",
        "asks for credentials of the machine it runs on",
        network_effects.FETCHERS,
        network_effects.asks_for_metadata,
    ),
    Rule("connection", "HIGH", "opens a separate connection", test=network_effects.opens_connection),
    Rule(
        "listen",
        "HIGH",
        "lets others run commands here",
        of("nc ncat netcat socat"),
        lambda call, _: (
            call.has("-e", "-c", "--exec", "--sh-exec") or "EXEC:" in " ".join(call.texts).upper()
        ),
    ),
    Rule("remote-shell", "HIGH", "runs commands on another machine", of("ssh telnet rsh mosh sshpass")),
    Rule(
        "send",
        "MEDIUM",
        "sends data to another machine",
        of("curl wget http https"),
        network_effects.sends_data,
    ),
    Rule("fetch", "MEDIUM", "fetches from the network", network_effects.FETCHERS),
)

_GIT = (
    Rule(
        "force-push",
        "HIGH",
        "overwrites or deletes what others may have",
        of("git hub"),
        _git(git_calls.is_forced_push),
    ),
    Rule(
        "rewrite-history",
        "HIGH",
        "rewrites the history of the repository",
        of("git"),
        _git(git_calls.rewrites_history),
    ),
    Rule("git-programs", "HIGH", "makes git run other programs", of("git"), _git(git_calls.runs_programs)),
    Rule(
        "global-settings",
        "HIGH",
        "changes settings outside the workspace",
        of("git"),
        _git(git_calls.changes_global_settings),
    ),
    Rule(
        "push-unknown",
        "UNKNOWN",
        "pushes what shows only when it runs",
        of("git"),
        _git(git_calls.pushes_unknown),
    ),
    Rule("upload", "HIGH", "lets commits go to another machine", of("git"), _git(git_calls.names_remote)),
    Rule(
        "drop-outside",
        "HIGH",
        "throws work away outside the workspace",
        of("git"),
        git_calls.drops_outside,
    ),
    Rule(
        "drop-changes",
        "MEDIUM",
        "throws work away that may not be saved elsewhere",
        of("git"),
        _git(git_calls.drops_changes),
    ),
    Rule(
        "remote",
        "MEDIUM",
        "exchanges commits with another machine",
        of("git"),
        _git(git_calls.reaches_remote),
    ),
)

_SERVICES = (
    Rule(
        "publish",
        "HIGH",
        "publishes to the public",
        of("npm pnpm yarn cargo gem twine poetry hatch flit docker podman helm uv python python3"),
        lambda call, _: not _PUBLISHES.isdisjoint(word.text for word in call.operands[:3]),
    ),
    Rule(
        "forge",
        "HIGH",
        "changes things on the git host",
        of("gh glab hub"),
        _with(*_FORGE_MATTERS),
    ),
    Rule(
        "forge", "MEDIUM", "writes on the git host", of("gh glab hub"), _with("pr", "mr", "issue", "create")
    ),
    Rule(
        "infrastructure",
        "HIGH",
        "changes running infrastructure",
        of("terraform tofu pulumi cdk ansible-playbook ansible"),
        lambda call, _: call.name.startswith("ansible") or _with(*_DEPLOYS)(call, _),
    ),
    Rule(
        "infrastructure",
        "HIGH",
        "changes running infrastructure",
        of("kubectl oc helm"),
        _with(
            "delete",
            "apply",
            "drain",
            "exec",
            "scale",
            "replace",
            "uninstall",
            "upgrade",
            "install",
            "patch",
            "create",
        ),
    ),
    Rule(
        "infrastructure",
        "HIGH",
        "changes running infrastructure",
        of("aws gcloud az doctl heroku flyctl fly"),
        lambda call, _: any(
            re.search(r"delete|terminate|destroy|remove|create|put-|deploy|stop", text) for text in call.texts
        ),
    ),
    Rule(
        "database",
        "HIGH",
        "deletes from a database",
        of("psql mysql mariadb sqlite3 mongosh mongo cqlsh clickhouse-client"),
        _matching(_HARMFUL_SQL),
    ),
    Rule("database", "HIGH", "deletes from a database", of("dropdb dropuser")),
    Rule(
        "database",
        "HIGH",
        "deletes from a database",
        of("redis-cli valkey-cli"),
        lambda call, _: bool({"FLUSHALL", "FLUSHDB", "SHUTDOWN"} & {text.upper() for text in call.texts}),
    ),
)

RULES: tuple[Rule, ...] = (*_FILES, *_SYSTEM, *_NETWORK, *_GIT, *_SERVICES, *CODE)

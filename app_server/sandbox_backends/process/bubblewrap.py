"""Isolates process sandboxes (sandboxes that run as processes on this machine) with bubblewrap: a sandbox
gets separate mounts, processes, IPC and host name.

A sandbox sees the machine's programs (read-only) and its own folder. It does not see other sandboxes, the app
server's database, or the home directory of the operating-system user who runs the app server. The agent
server uses the machine's network, because it connects to the app server on a loopback address. Commands of
the agent run in the command namespaces, isolated Linux namespaces with a network that has no connection to
the outside (agent_runtime/workspace/command_namespaces.py). Memory is not limited.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROBE_TIMEOUT_SECONDS = 20
TMP_BYTES = 1024**3
WHOLE_PROC = Path("/run/proc")
SHM_BYTES = 512 * 1024**2

_ISOLATION = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--new-session"),
    *("--cap-drop", "ALL", "--hostname", "sandbox"),
    # The agent server needs these capabilities to create the command namespaces. Then it gives them up.
    *("--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SYS_CHROOT", "--cap-add", "CAP_SETPCAP"),
    *("--cap-add", "CAP_NET_ADMIN"),
)
# Commands run in a user namespace that allows no further ones. So they cannot use what the kernel offers only
# in a new user namespace. Root runs without it on a machine (often a container) that allows none.
_USER_NAMESPACE = ("--unshare-user", "--disable-userns")

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# An allow-list, since /etc also contains keys and passwords.
_ETC = (
    *("alternatives", "bash.bashrc", "ca-certificates", "chromium", "chromium.d", "debian_version", "fonts"),
    *("gai.conf", "gitconfig", "host.conf", "hosts", "inputrc", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("locale.alias", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release", "pki/tls/certs"),
    *("pki/ca-trust", "profile", "profile.d", "protocols", "resolv.conf", "services", "ssl/certs"),
    *("ssl/openssl.cnf", "terminfo", "timezone"),
)
# bubblewrap does not take these from a user who is root outside: uid 0 owns them, even without capabilities.
_READ_ONLY_PROC = ("bus", "fs", "irq", "sys", "sysrq-trigger")
_MASKED_PROC = ("kcore", "keys", "latency_stats", "sched_debug", "timer_list", "timer_stats")
_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Unusable(Exception):
    """The error that is raised if bubblewrap cannot be used on this machine. `cause`: the reason. `fix`: what
    an administrator can do.
    """

    def __init__(self, cause: str, fix: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.fix = fix


@dataclass(frozen=True)
class Bubblewrap:
    """The bubblewrap program of this machine. `isolation`: the command line options for the kinds of
    isolation that this machine allows.
    """

    program: str
    isolation: tuple[str, ...]

    def wrap(
        self,
        command: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        directory: Path,
        accounts: Path | None = None,
    ) -> list[str]:
        """Returns the command line that runs `command` isolated by bubblewrap.

        `readable`: paths below which the command may only read, in addition to the system's programs.
        `writable`: paths below which the command may read and write, in addition to temporary directories
        such as `/tmp`. Files below these paths have the same paths inside the isolation as outside.
        `directory`: the working directory. `accounts`: a directory with the `passwd` and `group` files that
        the command sees; None means that it sees no such files.
        """
        return [
            self.program,
            *self.isolation,
            *_system(),
            *_etc(accounts),
            *_proc(),
            *("--dev", "/dev", "--size", str(SHM_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108
            *("--remount-ro", "/dev"),
            *("--size", str(TMP_BYTES), "--perms", "1777", "--tmpfs", "/tmp", "--dir", "/var"),  # noqa: S108
            *("--perms", "0755", "--tmpfs", "/run"),
            # The kernel allows a new /proc only if a complete one is visible. The agent server covers this
            # one later.
            *("--bind", "/proc", str(WHOLE_PROC)),
            *("--symlink", "/tmp", "/var/tmp"),  # noqa: S108 (all of these are the sandbox's own)
            *_binds("--ro-bind", readable),
            *_binds("--bind", writable),
            *("--remount-ro", "/", "--chdir", str(directory)),
            "--",
            *command,
        ]


def find_bubblewrap(environment: Mapping[str, str] = os.environ) -> Bubblewrap:
    """Finds the bubblewrap program and tests whether it works on this machine. Returns the program and the
    kinds of isolation that it can give. Raises Unusable if bubblewrap cannot be used. Blocks the thread for
    milliseconds. `environment`: its variable `PATH` lists the directories in which the program may be.
    """
    program = shutil.which("bwrap", path=environment.get("PATH"))
    if program is None:
        raise Unusable("bubblewrap is not installed.", fix="Install it: apt-get install bubblewrap")
    said = ""
    for further in (_USER_NAMESPACE, ()):
        candidate = Bubblewrap(program, (*further, *_ISOLATION))
        said = _try(candidate) or ""
        if not said:
            return candidate
    raise Unusable(
        f"bubblewrap does not work here: {said}",
        fix="Have bubblewrap 0.8 or newer, allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
        "user.max_user_namespaces above 0, on Ubuntu an AppArmor profile for bwrap), and see that "
        "`bwrap --ro-bind / / --unshare-user --unshare-pid --proc /proc true` succeeds.",
    )


def runtime_paths(source: Path, environment: Mapping[str, str]) -> list[Path]:
    """Returns the paths outside the system's directories that an isolated agent server must be able to read.

    These are the packages of Slipway in the directory `source`, the Python interpreter, its libraries, and
    the certificate files that `environment` names.
    """
    interpreter = Path(sys.executable).resolve().parents[1]
    wanted = [source / "agent_runtime", Path(sys.prefix), Path(sys.base_prefix), interpreter]
    wanted += [Path(environment[name]) for name in _CERTIFICATE_VARIABLES if environment.get(name)]
    return list(dict.fromkeys(path for path in wanted if path.exists() and not _is_of_the_system(path)))


def write_accounts(folder: Path, home: Path) -> None:
    """Writes a `passwd` and a `group` file for a sandbox into `folder`. The files contain only two users: the
    sandbox's user and root.
    """
    uid, gid = os.getuid(), os.getgid()
    lines = [f"agent:x:{uid}:{gid}::{home}:/bin/bash", *([] if uid == 0 else ["root:x:0:0::/:/bin/false"])]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "passwd").write_text("".join(f"{line}\n" for line in lines))
    (folder / "group").write_text(f"agent:x:{gid}:\n" + ("" if gid == 0 else "root:x:0:\n"))


def _try(bubblewrap: Bubblewrap) -> str | None:
    """Runs a test command in bubblewrap. Returns the error text if the command fails, and None if it
    succeeds.
    """
    command = bubblewrap.wrap(["true"], writable=[], readable=[], directory=Path("/"))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PROBE_TIMEOUT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"


def _system() -> Iterator[str]:
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.exists():
            yield from ("--ro-bind", str(path), str(path))


def _etc(accounts: Path | None) -> Iterator[str]:
    for path in (Path("/etc", name) for name in _ETC):
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))
    for name in ("passwd", "group") if accounts else ():
        yield from ("--ro-bind", str(Path(accounts or "", name)), f"/etc/{name}")


def _proc() -> Iterator[str]:
    yield from ("--proc", "/proc")
    for path in (Path("/proc", name) for name in _READ_ONLY_PROC):
        if path.exists():
            yield from ("--ro-bind", str(path), str(path))
    for path in (Path("/proc", name) for name in _MASKED_PROC):
        if path.exists():
            yield from ("--ro-bind", "/dev/null", str(path))


def _binds(option: str, paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        yield from (option, str(path), str(path))


def _is_of_the_system(path: Path) -> bool:
    return any(path.is_relative_to(root) for root in _SYSTEM) or (
        path.is_relative_to("/etc") and any(path.is_relative_to(Path("/etc", name)) for name in _ETC)
    )

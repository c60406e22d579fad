"""Decides which paths an action may use without asking the user (the workspace and temporary directories),
and which paths are especially risky.
"""

import os
import re
from pathlib import PurePosixPath

_SCRATCH = tuple(map(PurePosixPath, ("/tmp", "/var/tmp", "/dev/shm")))  # noqa: S108 (named, not used)
_HOMES = frozenset({PurePosixPath("~"), PurePosixPath("~root")})
_PARTS_OF_TOP = 2  # the root and one name
_STREAMS = re.compile(r"/dev/(null|zero|full|tty|std(in|out|err)|fd/\d+)\Z|/proc/self/fd/\d+\Z")
_CREDENTIALS = re.compile(
    r"(^|/)\.(ssh|aws|azure|gnupg|kube|password-store)(/|$)"
    r"|(^|/)\.(netrc|git-credentials|pgpass|npmrc|pypirc|docker/config\.json|config/(gh|gcloud|hub))(/|$)"
    r"|(^|/)id_(rsa|dsa|ecdsa|ed25519)$"
    r"|^/etc/(shadow|gshadow|sudoers|ssl/private)"
    r"|^/proc/[^/]+/(environ|mem)$"
    r"|(^|/)\.(bash|zsh|python|psql|mysql|node_repl)_history$"
)
_SECRETS = re.compile(
    r"(^|/)\.env(\.(?!example$|sample$|template$|dist$)[\w.-]+)?$|\.(pem|key|p12|pfx|jks|keystore|kdbx)$"
    r"|(^|[/_.-])(secret|credential|token|password|passwd)s?([/_.-]|$)",
    re.IGNORECASE,
)
_RUN_BY_GIT = re.compile(r"(^|/)\.git/(hooks(/|$)|config$|info/attributes$|modules/.*/(hooks(/|$)|config$))")
_METADATA_HOSTS = frozenset(
    ("169.254.169.254", "fd00:ec2::254", "metadata.google.internal", "metadata", "100.100.100.200")
)
_DEVICE = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|loop|md|dm-|mem|kmem|port)")


def is_inside(path: str, workspace: str) -> bool:
    """Returns whether the path is in the workspace or in a temporary directory, or is a device such as
    /dev/null. Symbolic links in the path are resolved first.
    """
    if path.startswith("~"):
        return False
    real = PurePosixPath(_real(path))
    roots = (PurePosixPath(workspace), PurePosixPath(_real(workspace)), *_SCRATCH)
    return bool(_STREAMS.match(path)) or any(real.is_relative_to(root) for root in roots)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:
        return path  # as of other processes' files in /proc, whose targets cannot be read


def is_whole_tree(path: str, workspace: str) -> bool:
    """Returns whether deleting the path would delete the whole workspace or the user's files. Such paths are
    the workspace, the `.git` directory in it, each directory above it, home directories, and directories
    directly below `/`, such as `/etc`.
    """
    target, root = PurePosixPath(path), PurePosixPath(workspace)
    if root.is_relative_to(target) or target == root / ".git":
        return True
    return target in _HOMES or (len(target.parts) == _PARTS_OF_TOP and target.is_absolute())


def is_scratch_root(path: str) -> bool:
    return PurePosixPath(path) in _SCRATCH


def is_scratch(path: str) -> bool:
    """Returns whether the path is a temporary directory or is inside one."""
    return any(PurePosixPath(path).is_relative_to(root) for root in _SCRATCH)


def is_credential(path: str) -> bool:
    return bool(_CREDENTIALS.search(path))


def is_secret(path: str) -> bool:
    """Returns whether the path looks like the path of a file with credentials. The content of the file is not
    checked.
    """
    return is_credential(path) or bool(_SECRETS.search(path))


def runs_later(path: str) -> bool:
    """Returns whether git may later run, without asking the user, this file or programs that are named in the
    file. Such files are the hooks, configuration and attributes in a `.git` directory.
    """
    return bool(_RUN_BY_GIT.search(path))


def is_metadata_host(host: str) -> bool:
    """Returns whether the host is a cloud's metadata service, from which programs can get the machine's
    credentials.
    """
    return host.strip("[]").lower() in _METADATA_HOSTS or _as_address(host) == "169.254.169.254"


def _as_address(host: str) -> str:
    """Returns the IP address in dotted form if the host is written as a single number, such as `127.0.0.1`
    for `2130706433`. Otherwise returns an empty text. Programs accept both forms of an address.
    """
    try:
        number = int(host, 0)
    except ValueError:
        return ""
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def is_device(path: str) -> bool:
    return bool(_DEVICE.match(path))

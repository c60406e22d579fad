"""Packet filter rules that prevent containers on the sandboxes' bridge from reaching services of this host.

An internal network has no way out. But services that listen on all of the host's addresses also answer on the
bridge's address. Only the host's packet filter can prevent this, and only root may change it.
"""

import shutil
import subprocess

CHAIN = "SLIPWAY"
TIMEOUT_SECONDS = 20
_WAIT = ("-w", "10")
_ANSWERS = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT")


class NotFiltered(Exception):
    """The packet filter rules cannot be set or read. The error's text says why."""


def admit_only(bridge: str, gateway: str, port: int) -> None:
    """Blocks all new connections from `bridge` to this host, except those to `port` and to ports of other app
    servers.

    The call can be repeated. It blocks for some milliseconds. Raises NotFiltered.
    """
    if _run("-n", "-L", CHAIN).returncode != 0:
        # Two servers may start at once: the second one finds the chain made.
        _run("-N", CHAIN)
    _ensure("-A", CHAIN, *_ANSWERS)
    _ensure("-A", CHAIN, "-j", "DROP")
    _ensure("-I", CHAIN, *_admission(gateway, port))
    _ensure("-I", "INPUT", "-i", bridge, "-j", CHAIN)


def is_admitted(gateway: str, port: int) -> bool:
    """Returns whether sandboxes can connect to `port`: a server has opened the port and has not closed it
    again.

    Raises NotFiltered.
    """
    return _run("-C", CHAIN, *_admission(gateway, port)).returncode == 0


def withdraw(gateway: str, port: int) -> None:
    """Closes `port` to sandboxes again. Does nothing if the port is closed. Raises NotFiltered."""
    _run("-D", CHAIN, *_admission(gateway, port))


def advice(bridge: str, gateway: str, port: int) -> str:
    """Returns the commands by which an administrator sets the packet filter rules, for a server that is not
    permitted to set them itself.
    """
    return (
        f"Start Slipway as root, or let root run: iptables -I INPUT -i {bridge} -m conntrack --ctstate NEW "
        f"-j DROP && iptables -I INPUT -i {bridge} -d {gateway} -p tcp --dport {port} -j ACCEPT"
    )


def _admission(gateway: str, port: int) -> tuple[str, ...]:
    return ("-d", gateway, "-p", "tcp", "--dport", str(port), "-j", "ACCEPT")


def _ensure(how: str, chain: str, *rule: str) -> None:
    if _run("-C", chain, *rule).returncode == 0:
        return
    done = _run(how, chain, *rule)
    if done.returncode != 0:
        raise NotFiltered(f"iptables refused: {done.stderr.strip()}")


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("iptables") or shutil.which("iptables", path="/usr/sbin:/sbin")
    if program is None:
        raise NotFiltered("iptables is not installed.")
    try:
        return subprocess.run(
            [program, *_WAIT, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFiltered(f"iptables could not be run: {error}") from error

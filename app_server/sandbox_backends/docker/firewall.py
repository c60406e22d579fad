"""Packet filter rules that prevent sandbox containers from reaching services of this host over the bridge of
the sandboxes' Docker network.

An internal Docker network has no connection to the outside. But if a service of the host listens on all
addresses, containers can still reach it at the address of the bridge. Only the host's packet filter can
prevent this, and only root may change the packet filter.
"""

import shutil
import subprocess

CHAIN = "SLIPWAY"
TIMEOUT_SECONDS = 20
_WAIT = ("-w", "10")
_ANSWERS = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT")


class NotFiltered(Exception):
    """The error that is raised if the packet filter rules against connections of sandboxes to this host
    cannot be set or read. The error's text gives the reason.
    """


def admit_only(bridge: str, gateway: str, port: int) -> bool:
    """Blocks new connections from the network bridge `bridge` to this host. Only connections to `port` of the
    address `gateway`, and to ports that other app servers have allowed with this function, are not blocked.

    Returns whether a rule was missing. The call can be repeated: it adds only the rules that are missing. It
    blocks the thread for some milliseconds. Raises NotFiltered if the rules cannot be set.
    """
    if _run("-n", "-L", CHAIN).returncode != 0:
        # Two servers may start at once: the second one finds the chain made.
        _run("-N", CHAIN)
    rules: tuple[tuple[str, str, *tuple[str, ...]], ...] = (
        ("-A", CHAIN, *_ANSWERS),
        ("-A", CHAIN, "-j", "DROP"),
        ("-I", CHAIN, *_admission(gateway, port)),
        ("-I", "INPUT", "-i", bridge, "-j", CHAIN),
    )
    were_missing = [_add_if_missing(*rule) for rule in rules]
    return any(were_missing)


def is_admitted(gateway: str, port: int) -> bool:
    """Returns whether the packet filter contains the rule that lets sandboxes connect to `port` of the
    address `gateway`. Raises NotFiltered if iptables is missing or cannot be run.
    """
    return _run("-C", CHAIN, *_admission(gateway, port)).returncode == 0


def withdraw(gateway: str, port: int) -> None:
    """Removes the packet filter rule that lets sandboxes connect to `port` of the address `gateway`. Does
    nothing if there is no such rule. Raises NotFiltered if iptables is missing or cannot be run.
    """
    _run("-D", CHAIN, *_admission(gateway, port))


def advice(bridge: str, gateway: str, port: int) -> str:
    """Returns a text that tells an administrator how to block connections of sandboxes to this host: start
    Slipway as root, or run the given commands. Shown if the app server may not set packet filter rules.
    """
    return (
        f"Start Slipway as root, or let root run: iptables -I INPUT -i {bridge} -m conntrack --ctstate NEW "
        f"-j DROP && iptables -I INPUT -i {bridge} -d {gateway} -p tcp --dport {port} -j ACCEPT"
    )


def _admission(gateway: str, port: int) -> tuple[str, ...]:
    return ("-d", gateway, "-p", "tcp", "--dport", str(port), "-j", "ACCEPT")


def _add_if_missing(how: str, chain: str, *rule: str) -> bool:
    """Adds the rule to the chain if it is not there. Returns whether it was missing."""
    if _run("-C", chain, *rule).returncode == 0:
        return False
    done = _run(how, chain, *rule)
    if done.returncode != 0:
        raise NotFiltered(f"iptables refused: {done.stderr.strip()}")
    return True


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

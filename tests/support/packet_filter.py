"""Removes Slipway's rules from the packet filter of a simulated machine, as a reload of its firewall does."""

import subprocess
from collections.abc import Callable

from app_server.sandbox_backends.docker.firewall import CHAIN
from app_server.sandbox_backends.docker.network import BRIDGE
from tests.support.own_engine import OwnEngine
from tests.support.server import wait_until

WARNING = "rules of the packet filter had been removed"


def remove_rules(engine: OwnEngine, output: Callable[[], str], story: Callable[[], str]) -> None:
    """Removes the rules, and waits until they are set again and the program that sets them has logged its
    warning. `output`: returns the log of this program. `story`: returns the text of the error if they are not
    set.
    """
    before = _rules(engine)
    assert f"-i {BRIDGE} -j {CHAIN}" in before
    for command in (["-F", "INPUT"], ["-F", CHAIN], ["-X", CHAIN]):
        subprocess.run([*engine.inside, "iptables", "-w", "10", *command], check=True)

    wait_until(lambda: _rules(engine) == before, lambda: f"the rules of the packet filter:\n{story()}")
    # The program logs the warning after it has set the rules.
    wait_until(lambda: WARNING in output(), lambda: f"the warning:\n{story()}")


def _rules(engine: OwnEngine) -> str:
    """Returns the rules that decide about connections of sandboxes to the machine."""
    command = [*engine.inside, "iptables", "-w", "10", "-S"]
    rules = subprocess.check_output(command, text=True).splitlines()
    return "\n".join(each for each in rules if CHAIN in each.split())

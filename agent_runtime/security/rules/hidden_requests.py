"""Contains functions that the table of security rules uses. The functions find downloads whose addresses or
settings are read from files, so that the command itself does not show them.
"""

import re
from collections.abc import Iterator, Mapping

from agent_runtime.security import path_policy
from agent_runtime.security.rules.environment import assignments
from agent_runtime.security.shell.calls import Call
from agent_runtime.security.shell.words import Word

# Options without a value may stand before one with a value: `-sSK file`.
_FLAGS = {"curl": "[#0-46afgGiIjJklLnNOpqRsSvVZ]*", "wget": "[46bcdEFHkKLmNpqrSvx]*", "aria2c": "[cVZ]*"}
_Option = tuple[str, str]
_CONFIGURES: Mapping[str, _Option] = {
    "curl": ("K", "--config"),
    "wget": ("", "--config"),
    "aria2c": ("", "--conf-path"),
}
_LISTS: Mapping[str, _Option] = {"wget": ("i", "--input-file"), "aria2c": ("i", "--input-file")}
_EXECUTE: _Option = ("e", "--execute")
_HEADERS: tuple[_Option, ...] = (("H", "--header"), ("", "--proxy-header"))
_CONFIGURING = {"curl": {"CURL_HOME"}, "wget": {"WGETRC", "SYSTEM_WGETRC"}}
_HARMLESS_SETTING = re.compile(r"\s*(robots|quiet|verbose|continue|tries|timeout|user_?agent)\s*=")


def is_configured(call: Call, workspace: str) -> bool:
    """Returns whether a download program gets settings that can make it send, write or run anything. This is
    assumed if an option or an environment variable names a configuration file or its directory. It is also
    assumed if `wget -e` sets anything but a few harmless settings, such as the number of tries.
    """
    del workspace
    if any(name in _CONFIGURING.get(call.name, ()) for name, _ in assignments(call)):
        return True
    settings = _values(call, _EXECUTE) if call.name == "wget" else ()
    return any(True for _ in _values(call, _CONFIGURES[call.name])) or any(
        not _HARMLESS_SETTING.match(word.text) for word in settings
    )


def sends_lines(call: Call, workspace: str) -> bool:
    """Returns whether a download program reads addresses, settings or headers from a file that is secret or
    outside the workspace, as in `wget -i ~/.ssh/id_rsa`. Such a command is risky, because the lines of the
    file are sent over the network as parts of requests.
    """
    options = [table[call.name] for table in (_LISTS, _CONFIGURES) if call.name in table]
    words = [word for option in options for word in _values(call, option)]
    words += [Word(text[1:]) for text in _headers(call) if text.startswith("@")]
    paths = (call.path(word) for word in words if word.text != "-" and "://" not in word.text)
    return any(
        path_policy.is_secret(path) or not path_policy.is_inside(path, workspace) for path in paths if path
    )


def _headers(call: Call) -> Iterator[str]:
    if call.name == "curl":
        yield from (word.text for one in _HEADERS for word in _values(call, one))


def _values(call: Call, option: _Option) -> Iterator[Word]:
    """Yields the values that the call gives to an option. `option`: the letter of the option (empty if it has
    none) and its long name, such as `H` and `--header`.

    A value is found in the next word (`-H x`), after `=` (`--header=x`) and directly after the letter
    (`-Hx`). The long name may be shortened (`--head x`).
    """
    letter, long = option
    short = re.compile(rf"-{_FLAGS[call.name]}{letter}(.*)", re.DOTALL) if letter else None
    for at, word in enumerate(call.arguments):
        name, is_set, value = word.text.partition("=")
        if short and (match := short.fullmatch(word.text)):
            is_set = value = match[1]
        elif not (len(name) > 4 and long.startswith(name)):
            continue
        yield from [Word(value, word.is_known)] if is_set else call.arguments[at + 1 : at + 2]

"""Finds misspelled names among the environment variables that begin with `SLIPWAY_`, and lists the variables
that are not settings of the app server.

A misspelled variable stops the start. If it were ignored, a setting such as the isolation of agents could be
missing without a warning.
"""

import difflib
from collections.abc import Collection, Iterable

PREFIX = "SLIPWAY_"

OTHERS = frozenset(
    {
        "SLIPWAY_BELONGS_TO",  # marks the processes of one agent server
        "SLIPWAY_CONVERSATION_ID",  # marks the processes of one conversation
        "SLIPWAY_MODELS_URL",  # where programs in a sandbox reach the models
        "SLIPWAY_EGRESS_AUTHORITY",  # where the browser of an agent finds one more authority
        "SLIPWAY_GIT_PASSWORD",  # with which our git signs in
        "SLIPWAY_GIT_USERNAME",
        "SLIPWAY_URL",  # where programs that use the library find an app server
    }
)
"""Variables that are not settings of the app server. Other programs read or set them: agent servers, git in
sandboxes, and programs that use Slipway's Python library.
"""

OF_TESTS = ("SLIPWAY_TEST_", "SLIPWAY_CI_", "SLIPWAY_COMPAT_", "SLIPWAY_FUZZ_", "SLIPWAY_PYTHON")
"""The beginnings of the names of variables that only the tests and their scripts read."""


def unknown_variables(environment: Iterable[str], fields: Collection[str]) -> list[str]:
    """Returns one error sentence for each variable in `environment` that begins with `SLIPWAY_` and that
    Slipway does not know. `fields`: the names of the fields of Config. Each field is read from the variable
    `SLIPWAY_` followed by the field's name in upper case.
    """
    known = {f"{PREFIX}{field.upper()}" for field in fields}
    names = sorted({name.upper() for name in environment if name.upper().startswith(PREFIX)})
    return [
        _sentence(name, known)
        for name in names
        if name not in known and name not in OTHERS and not name.startswith(OF_TESTS)
    ]


def _sentence(name: str, known: set[str]) -> str:
    nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.0)
    return f"{name}: there is no such setting; did you mean {nearest[0]}? Rename it, or unset it"

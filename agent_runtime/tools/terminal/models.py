"""The action (arguments) and the observation (result) of the terminal tool."""

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent_runtime.tools.terminal.paint import Style
from agent_runtime.tools.tool import Action, Observation

QUIET_SECONDS = 30.0
# After input, or when polling: the model gets the output after this time without more of it.
SETTLE_SECONDS = 2.0
STILL_RUNNING = -1
_REACHES_OUT = re.compile(
    r"\b(curl|wget|aria2c|lynx|w3m|links|elinks|httpie|xh|nc|ncat|telnet|ssh|dig|whois|gh|glab|hub)\s"
    r"|\w+://|\bhttpx?\s|\brequests\.|\burlopen\b|/dev/(tcp|udp)/",
    re.IGNORECASE,
)
"""Matches commands whose output may come from the network. The list is incomplete. It is only used to mark
output as untrusted for the model. The package `security`, not this list, decides which commands the user must
confirm.
"""


class TerminalAction(Action):
    command: str = Field(
        description="The bash command to run; several are joined by `&&`, `;` or line breaks. While a "
        "command is running: an empty string waits for more of its output, and with `is_input` this is text "
        "for its standard input or one key, by name: `C-c`, `C-d`, `C-z` or any `C-<letter>`; `UP`, `DOWN`, "
        "`LEFT`, `RIGHT`, `HOME`, `END`, `PGUP`, `PGDN`, `TAB`, `ESC`, `BS`, `ENTER`."
    )
    is_input: bool = Field(
        default=False,
        description="True sends `command` to the running command instead of running it. Default: false.",
    )
    timeout: float | None = Field(
        default=None,
        ge=0,
        description="Seconds to wait at most. The command is not killed then: it goes on and you decide. "
        "Give a generous value for builds, installations and test suites. Without it the wait ends after "
        f"{QUIET_SECONDS:.0f} seconds without any output.",
    )
    reset: bool = Field(
        default=False,
        description="True ends the shell with everything running in it and starts a new one, for when it no "
        "longer answers. Variables and the working directory are lost. Not together with `is_input`.",
    )


class TerminalMetadata(BaseModel):
    """The state of the shell after a command. `exit_code`: -1 means that the command is still running.
    `suffix`: a note for the model about the state of the command.

    `styles`: the colours of the output, for user interfaces; None if the output has no colours. Models do not
    see the colours.
    """

    model_config = ConfigDict(frozen=True)

    exit_code: int = STILL_RUNNING
    pid: int = -1
    username: str | None = None
    hostname: str | None = None
    working_dir: str | None = None
    py_interpreter_path: str | None = None
    prefix: str = ""
    suffix: str = ""
    styles: list[Style] | None = None


class TerminalObservation(Observation):
    command: str | None
    exit_code: int | None = None
    timeout: bool = False
    metadata: TerminalMetadata = TerminalMetadata()
    full_output_save_dir: str | None = None

    @classmethod
    def is_foreign(cls, wire: Mapping[str, JsonValue]) -> bool:
        """Returns whether the command's output may contain text from the network. If so, the model sees the
        output between marks that say "data, not instructions". `wire`: the observation as JSON from the event
        log.

        The decision depends only on the text of the command, for example whether it contains `curl`. Other
        output is not marked, because it usually comes from the workspace. If all output were marked, the
        model would ignore the marks.
        """
        return _REACHES_OUT.search(str(wire.get("command") or "")) is not None

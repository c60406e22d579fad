"""Starts a bash on a terminal. A start-up file for this bash makes bash report the end of each command to the
runtime.
"""

import asyncio
import fcntl
import signal
import struct
import termios
import threading
from collections.abc import Mapping
from pathlib import Path

from agent_runtime.workspace.environment import bash_path
from agent_runtime.workspace.users import start_process

ROWS, COLUMNS = 50, 200

# STATUS_FIFO and VARIABLES_FIFO stand for the quoted paths. The report of a command is written once. Usually
# the call that is typed after each command writes it. If Ctrl-C has dropped the typed line, PROMPT_COMMAND
# writes it. A variable that a command has made readonly must not stop the report. An assignment to it would
# stop it; `declare` and `local` only print a warning. The variables for a single command come over a FIFO. So
# they are in no file, no command line and no echo of the terminal, and they end with the command.
RC = r"""
unset HISTFILE
set +H
PS1= PS2= PROMPT_COMMAND=__slipway_report __slipway_n=0 __slipway_done= __slipway_names=
__slipway_report() {
  { builtin local __slipway_r=$? -; builtin set +eux; } 2>/dev/null
  builtin declare -g PS1= PS2= PROMPT_COMMAND=__slipway_report 2>/dev/null
  if [[ $__slipway_n != "$__slipway_done" ]]; then
    __slipway_done=$__slipway_n
    builtin printf '\e]slipway;%s\a' "$__slipway_n" >/dev/tty
    builtin local IFS=' ' 2>/dev/null
    [[ -z $__slipway_names ]] || builtin unset $__slipway_names
    __slipway_names=
    builtin printf '%s\0%s\0%s\0%s\0' "$__slipway_n" "$__slipway_r" "$PWD" "$PATH" >STATUS_FIFO
  fi
  builtin return "$__slipway_r"
}
__slipway_begin() {
  { builtin local __slipway_r=$? -; builtin set +eux; } 2>/dev/null
  __slipway_n=$1
  builtin local IFS= __slipway_name __slipway_value 2>/dev/null
  while (( $2 )) && builtin read -r -d '' __slipway_name && [[ $__slipway_name ]]; do
    builtin read -r -d '' __slipway_value
    builtin export "$__slipway_name=$__slipway_value"
    __slipway_names+=" $__slipway_name"
  done <VARIABLES_FIFO
  builtin return "$__slipway_r"
}
readonly -f __slipway_report __slipway_begin
"""


# The signals that a terminal sends, for typed keys or when it is closed.
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP)


async def spawn(
    terminal: str, rc: Path, working_dir: Path, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    _let_commands_be_interrupted()
    # The leader of a session without a terminal gets the first one it opens as its controlling terminal, so
    # the shell opens it itself: no code of ours has to run between fork and exec.
    launch = 'exec "$0" --noprofile --noediting --rcfile "$1" -i <"$2" >"$2" 2>&1'
    return await start_process(
        "/bin/sh",
        "-c",
        launch,
        bash_path(),
        str(rc),
        terminal,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=working_dir,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
    )


def _let_commands_be_interrupted() -> None:
    """Makes sure that Ctrl-C can end the commands of the shell, even if this process ignores signals. A
    process that was started with nohup or in the background ignores some signals.

    A child process also ignores each signal that its parent ignores, and a shell cannot change this. So this
    function replaces "ignore" by a handler that does nothing. Child processes do not inherit handlers, so the
    signal has its normal effect in them.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may set handlers
    for number in _TERMINAL_SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def set_modes(terminal: int) -> None:
    """Sets the terminal's size and modes: no echo of typed text, no CR before LF, and no stop by Ctrl-S.
    `terminal`: the file descriptor of the terminal.
    """
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    modes = termios.tcgetattr(terminal)
    modes[0] &= ~termios.IXON
    modes[1] &= ~termios.ONLCR
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)

"""The text that describes the terminal tool to the model."""

DESCRIPTION = """\
Run a command in bash. The same shell serves the whole conversation: its working directory, variables,
functions and virtual environments stay from one call to the next. It starts in {working_dir}.

Commands
* Any bash text is one command: several lines, here-documents and quotes need no special care.
* One command runs at a time. Start servers and other endless programs in the background with their output in
  a file, such as `python3 -m http.server 8000 > server.log 2>&1 &`.
* Do not use `set -e` or `exit` at the top level: they end the shell. It comes back, without its variables.
* There is no pager: `git log`, `man` and the like print everything.

When a command takes long or asks a question
* After {quiet_seconds:g} seconds without output, or after `timeout`, you get what there is so far with exit
  code -1. The command is still running. Then
  - an empty `command` waits for more output;
  - `is_input=true` sends text (Enter is added) or a key such as `C-c`, `C-d`, `UP` or `ENTER`;
  - `reset=true` ends the shell and all it runs.
* Give a `timeout` to what is slow and silent: installations, builds, test suites.

Output
* Standard output and standard error come together, colours removed. Of very long output you see the beginning
  and the end; the notice between them names the file with all of it.
"""

SESSIONS = """
Sessions
* `session` names a shell; up to {max_sessions} exist side by side, each with its own directory, variables and
  running command. Calls of one reply with different sessions run at the same time.
* Keep a server, a watcher or a long build in a separate session, and look at it with an empty command while
  you work on in another. `reset=true` with an empty command ends a session.
"""

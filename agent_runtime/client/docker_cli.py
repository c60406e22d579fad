"""Runs the `docker` command. The command is installed together with Docker, so no Python
package is needed.
"""

import subprocess

from agent_runtime.client.errors import WorkspaceError

CALL_SECONDS = 60
LOG_LINES = "60"


class Docker:
    """An object that runs docker commands. Its methods raise WorkspaceError if a command fails."""

    def __init__(self, command: str) -> None:
        self._command = command

    def run(self, *arguments: str, stdin: bytes = b"") -> str:
        """Runs docker with these arguments and returns its output. `stdin`: the input of the command. If
        docker fails, raises WorkspaceError `sandbox_start_failed` with docker's message.
        """
        done = self._call(*arguments, stdin=stdin)
        if done.returncode != 0:
            raise WorkspaceError(
                "sandbox_start_failed",
                f"`{self._command} {arguments[0]}` failed.",
                "Read the output; `docker info` shows whether the engine works.",
                output=done.stderr.decode(errors="replace").strip(),
            )
        return done.stdout.decode().strip()

    def logs(self, container_id: str) -> str:
        done = self._call("logs", "--tail", LOG_LINES, container_id)
        return (done.stdout + done.stderr).decode(errors="replace").strip()

    def check(self, image: str) -> None:
        """Checks that containers of the image `image` can be started. Raises WorkspaceError
        `docker_unavailable` if no Docker engine answers. Raises WorkspaceError `sandbox_image_missing` if the
        engine does not have the image.
        """
        answer = self._call("version", "--format", "{{.Server.Version}}")
        if answer.returncode != 0:
            raise _unavailable("The Docker engine does not answer.", answer.stderr.decode(errors="replace"))
        if self._call("image", "inspect", image).returncode != 0:
            raise WorkspaceError(
                "sandbox_image_missing",
                f"The image {image} is not on this machine.",
                f"Build the sandbox image with `slipway images build`, or run `docker pull {image}`.",
            )

    def _call(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [self._command, *arguments]
        try:
            return subprocess.run(
                command, input=stdin, capture_output=True, timeout=CALL_SECONDS, check=False
            )
        except FileNotFoundError as error:
            raise _unavailable(f"There is no command `{self._command}`.") from error
        except subprocess.TimeoutExpired as error:
            raise _unavailable(f"`{self._command} {arguments[0]}` did not end in time.") from error


def _unavailable(cause: str, output: str = "") -> WorkspaceError:
    fix = "Install Docker with its command-line client, start it, and see that `docker info` works for you."
    return WorkspaceError("docker_unavailable", cause, fix, output=output.strip())

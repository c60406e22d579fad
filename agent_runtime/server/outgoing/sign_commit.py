"""The program that git calls in place of `ssh-keygen` to sign a commit. Uses only the standard library.

Git starts it as `sign_commit.py URL ARGUMENTS…` with the arguments for `ssh-keygen`: `-Y sign -n git -f KEY
FILE`. The program sends FILE to the app server, which has the private key, and writes the signature to
FILE.sig. For every other call, such as a verification, it starts `ssh-keygen`.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

TIMEOUT_SECONDS = 60


def main(url: str, arguments: list[str]) -> int:
    if arguments[:2] != ["-Y", "sign"]:
        try:
            os.execvp("ssh-keygen", ["ssh-keygen", *arguments])  # noqa: S606 (as git would do it)
        except OSError as error:
            _tell(f"ssh-keygen cannot be started: {error.strerror}.")
            return 1
    file = Path(arguments[-1])
    request = urllib.request.Request(  # noqa: S310 (the agent server's own relay)
        url, file.read_bytes(), {"Content-Type": "application/octet-stream"}, method="POST"
    )
    # The relay is on loopback, so the proxy of commands is not used.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as reply:
            signature = reply.read()
    except urllib.error.HTTPError as error:
        _tell(f"The commit is not signed. {_refusal_reason(error.read())}")
        return 1
    except OSError as error:
        _tell(f"The commit is not signed. Slipway does not answer: {error}")
        return 1
    Path(f"{file}.sig").write_bytes(signature)
    return 0


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _refusal_reason(body: bytes) -> str:
    """Returns the reason why the app server has not signed a commit. `body`: the body of its error reply. If
    the body is a problem document (JSON), the reason consists of its fields `detail` and `fix`. Otherwise the
    reason is the whole body.
    """
    try:
        problem = json.loads(body)
    except ValueError:
        return body.decode(errors="replace").strip()
    if not isinstance(problem, dict):
        return str(problem)
    return " ".join(str(problem[name]) for name in ("detail", "fix") if problem.get(name))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

"""Contains a function that the table of security rules uses. The function checks whether a program is called
in a way that prints credentials.
"""

import re

from agent_runtime.security.shell.calls import Call

_SHOWS = {
    "git": r"credential (fill|get)|credential-\w+ get",
    "gh": r"auth (token|status .*-t|status .*--show-token)",
    "glab": r"auth status .*-t",
    "gcloud": r"auth (application-default )?print-",
    "aws": r"configure (get|export)|sts get-session-token|ecr get-login|secretsmanager get|ssm get-parameter",
    "az": r"account get-access-token|keyvault secret show",
    "security": r"find-|dump-keychain",
    "pass": r"show|^\S",
    "op": r"read|item get",
    "vault": r"read|kv get|print token",
    "gpg": r"--export-secret|-d\b|--decrypt",
    "kubectl": r"get secrets?\b|config view .*--raw",
    "docker": r"login",
    "ssh-add": r".",
    "ssh-agent": r"-k",
    "heroku": r"auth:token|config",
    "npm": r"token|config get .*_authToken",
}


def shows_credentials(call: Call, workspace: str) -> bool:
    del workspace
    pattern = _SHOWS.get(call.name)
    return pattern is not None and re.match(pattern, " ".join(call.texts)) is not None

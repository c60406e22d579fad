"""Explains a failed `git clone` to the user, from git's output. Does no I/O."""

from app_server.core.errors import StartFailure
from app_server.git.address import Address, without_credentials

MAX_NAMED_BRANCHES = 20
_NO_BRANCH = "not found in upstream"
_ABSENT = (
    "has no repository",
    "repository not found",
    "does not exist",
    "does not appear to be a git repository",
    "not found",
    "no such file or directory",
    "not exported",
)
# The words of OpenSSL and of GnuTLS.
_UNTRUSTED = ("ssl certificate problem", "certificate verification failed", "no alternative certificate")
REDIRECTED = "returned error: 30"
_REFUSED = (
    "wants a token",
    "without a token",
    "could not read username",
    "authentication failed",
    "permission denied",
    "returned error: 403",
)
# In this line git names its target folder, whose name may contain any word.
_GREETING = "cloning into"


def clone_timed_out(address: Address, timeout_seconds: float, output: str) -> StartFailure:
    return StartFailure(
        "repository_clone_failed",
        f"Cloning {address.public_url} took longer than {timeout_seconds:g} seconds.",
        fix="Retry, or raise SLIPWAY_CLONE_TIMEOUT_SECONDS.",
        output=without_credentials(output),
    )


def clone_failed(address: Address, output: str, branch: str | None = None) -> StartFailure:
    """Returns the error to show to the user after a failed `git clone`. `output`: git's output without
    credentials. `branch`: the branch that git was to clone; None for the default branch.
    """
    said = "\n".join(line for line in output.lower().splitlines() if not line.startswith(_GREETING))
    if branch is not None and _NO_BRANCH in said:
        return StartFailure(
            "branch_not_found",
            f"{address.public_url} has no branch {branch!r}.",
            fix="Start again with another branch, or push the missing one and retry.",
        )
    if REDIRECTED in said:
        return StartFailure(
            "repository_not_found",
            f"{address.public_url} redirects to another address.",
            fix="Give the address that it redirects to, often the same with .git at its end.",
            output=output,
        )
    if any(words in said for words in _UNTRUSTED):
        return StartFailure(
            "certificate_not_trusted",
            f"The certificate of the server of {address.public_url} is not trusted.",
            fix="If a private authority has signed it, paste the certificate of that authority under "
            "Settings, Git hosts. Otherwise the server needs a valid certificate.",
            output=output,
        )
    if any(words in said for words in _REFUSED):
        return StartFailure(
            "repository_not_found",
            f"{address.public_url} does not exist, or it is private.",
            fix="Check the address; for a private repository, add a token under Settings, Git hosts.",
            output=output,
        )
    if any(words in said for words in _ABSENT):
        return StartFailure(
            "repository_not_found",
            f"There is no repository at {address.public_url}.",
            fix="Check the address, then retry.",
            output=output,
        )
    return StartFailure(
        "repository_clone_failed",
        f"{address.public_url} could not be cloned.",
        fix="Read git's output; retry when its cause is gone.",
        output=output,
    )


def branch_not_found(address: Address, branch: str, branches: list[str]) -> StartFailure:
    named = ", ".join(branches[:MAX_NAMED_BRANCHES]) or "none"
    others = " and more" if len(branches) > MAX_NAMED_BRANCHES else ""
    return StartFailure(
        "branch_not_found",
        f"{address.public_url} has no branch {branch!r}. Its branches: {named}{others}.",
        fix="Start again with one of these branches, or push the missing one and retry.",
    )

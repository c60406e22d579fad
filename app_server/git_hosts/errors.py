"""The errors that Slipway raises for failed calls to a git host. Many of them say what a user can do.
The first column states the cause: an HTTP status of the host's reply, or other words in parentheses.

host's status               error                        code
401, (a sign-in page)       BadGateway 502               git_token_refused
403                         Forbidden 403                git_host_forbidden
404                         NotFound 404                 git_host_not_found
409                         Conflict 409                 git_host_conflict
400, 405, 406, 413          BadRequest 400               git_host_refused
415, 422                    BadRequest 400               git_host_refused
410                         Gone 410                     git_host_feature_off
423                         Conflict 409                 git_host_archived
429, 503 with Retry-After   TooManyRequests 429          git_rate_limited
others, (no reply)          BadGateway 502               git_host_failed
(certificate not trusted)   BadGateway 502               git_host_untrusted
(no such feature)           BadRequest 400               git_host_cannot

(a sign-in page): the host replied with a redirect, or with a page for browsers in place of JSON. Some
hosts do this if the token is not valid. A reply with the status 403 leads to the error `git_rate_limited` if
it says that the rate limit is reached.
"""

import httpx

from app_server.core.errors import (
    AppError,
    BadGateway,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    TooManyRequests,
)

_MAX_REASON_CHARACTERS = 500

TOKEN_REFUSED = "git_token_refused"  # noqa: S105 (the code of an error)
"""The code of the error that is raised if the git host does not accept the token."""

TRUST_FIX = (
    "If a private authority has signed it, paste the certificate of that authority in the settings, under "
    "Git hosts, into the field Certificate authorities. Otherwise the host needs a valid certificate."
)

_Refusal = tuple[type[AppError], str, str, str | None]
_NOT_TAKEN: _Refusal = (BadRequest, "git_host_refused", "{} refuses this", None)
_REFUSALS: dict[int, _Refusal] = {
    **dict.fromkeys((400, 405, 406, 413, 415, 422), _NOT_TAKEN),
    403: (Forbidden, "git_host_forbidden", "{} does not allow this", "Check what the token may do."),
    404: (
        NotFound,
        "git_host_not_found",
        "{} has nothing there, or this token cannot see it",
        "Check the name, and what the token may see.",
    ),
    409: (Conflict, "git_host_conflict", "{} has a conflict", None),
    410: (Gone, "git_host_feature_off", "{} has this turned off", None),
    423: (Conflict, "git_host_archived", "The repository at {} is archived", None),
}


def token_refused(host: str) -> AppError:
    return BadGateway(
        f"{host} refuses the token.",
        code=TOKEN_REFUSED,
        fix="The token may have expired or been revoked. Add a new one in the settings, under Git hosts.",
    )


def failed(host: str, why: str) -> AppError:
    return BadGateway(f"{host} could not be asked: {_short(why)}.", code="git_host_failed")


def untrusted(host: str, problem: str) -> AppError:
    """Returns the error for a git host whose TLS certificate was not accepted. `problem`: the reason that the
    TLS library states.
    """
    return BadGateway(
        f"The certificate of {host} is not trusted: {_short(problem)}.",
        code="git_host_untrusted",
        fix=TRUST_FIX,
    )


def cannot(host: str, what: str) -> AppError:
    return BadRequest(f"{host} cannot {what}.", code="git_host_cannot")


def rate_limited(host: str, wait_seconds: float) -> AppError:
    """Returns the error for a git host that accepts no calls for some time because of its rate limit.
    `wait_seconds`: the time until the host accepts calls again.
    """
    seconds = max(1, round(wait_seconds))
    return TooManyRequests(
        f"{host} takes no more calls with this token for {seconds} s.",
        code="git_rate_limited",
        fix="Wait, or use another token.",
        headers={"Retry-After": str(seconds)},
    )


def refused(host: str, status: int, reason: str, *, missing_scope: str | None = None) -> AppError:
    """Returns the error to raise for a reply of the git host with an HTTP status of 400 or more.

    `reason`: the host's message; may be empty. `missing_scope`: what the token lacks, such as the names of
    permissions; None if it is not known. For the status 403, the error tells the user to add this to the
    token.
    """
    if status == httpx.codes.UNAUTHORIZED:
        return token_refused(host)
    if status not in _REFUSALS:
        return failed(host, f"it answered {status}" + (f", {_short(reason)}" if reason else ""))
    kind, code, words, fix = _REFUSALS[status]
    if status == httpx.codes.FORBIDDEN and missing_scope:
        fix = f"The token needs: {missing_scope}."
    return kind(words.format(host) + (f": {_short(reason)}." if reason else "."), code=code, fix=fix)


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _MAX_REASON_CHARACTERS else line[:_MAX_REASON_CHARACTERS] + "…"

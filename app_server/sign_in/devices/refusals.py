"""The errors of a device's sign-in. Errors that the device receives also have the JSON fields `error` and
`error_description`, which RFC 8628 and RFC 6749 define.
"""

from app_server.core.errors import BadRequest, NotFound

_NO_STORE = {"Cache-Control": "no-store"}


def oauth_refusal(error: str, detail: str, *, fix: str | None = None) -> BadRequest:
    """Returns the error BadRequest for a device. The reply is a problem document (RFC 9457). `error`: the
    OAuth error code, which becomes the `code` of the document. `detail`: what is wrong. `fix`: what the user
    can do; None if there is no advice.
    """
    return BadRequest(detail, code=error, fix=fix, headers=_NO_STORE, error=error, error_description=detail)


def invalid_request(detail: str) -> BadRequest:
    return oauth_refusal("invalid_request", detail)


def unknown_device_code() -> BadRequest:
    return oauth_refusal(
        "invalid_grant", "This device code is unknown, or it was used already.", fix="Start a new sign-in."
    )


def code_not_found() -> NotFound:
    """Returns the error for a user code (the code that a device shows) that is wrong, has expired or was
    already answered. All three cases give the same error.
    """
    return NotFound(
        "There is no such code. It may have expired, or it was answered already.",
        code="device_code_not_found",
        fix="Compare it with the code in your terminal, or start the sign-in there again.",
    )

"""The errors of a sign-in by password, and of changes to a password or an authenticator app."""

from app_server.core.errors import BadRequest, Conflict, Forbidden, NotAuthenticated, TooManyRequests

_OTHER_WAYS = "Wait, or sign in with a link from an administrator or with single sign-on."


def password_sign_in_off() -> Forbidden:
    return Forbidden(
        "Signing in with a password is turned off here.",
        code="password_sign_in_off",
        fix="Use another way to sign in. An administrator can set SLIPWAY_PASSWORD_SIGN_IN.",
    )


def login_refused() -> NotAuthenticated:
    """Returns the error for an unknown login name and for a wrong password. The error is the same, so that it
    does not show which login names exist.
    """
    return NotAuthenticated("The login name or the password is wrong.", code="login_refused")


def totp_code_needed() -> NotAuthenticated:
    return NotAuthenticated(
        "Enter the code of your authenticator app.",
        code="totp_code_needed",
        fix="Send the same request with `code`: six digits, or a recovery code.",
    )


def totp_code_wrong() -> NotAuthenticated:
    return NotAuthenticated(
        "This code is wrong, or it was used before.",
        code="totp_code_wrong",
        fix="Wait for the next code of your authenticator app, or use a recovery code.",
    )


def throttled(seconds: int) -> TooManyRequests:
    return TooManyRequests(
        f"Signing in has failed too often. Try again in {_span(seconds)}.",
        code="sign_in_throttled",
        fix=_OTHER_WAYS,
        headers={"Retry-After": str(seconds)},
        retry_after_seconds=seconds,
    )


def too_many_checks() -> TooManyRequests:
    return TooManyRequests(
        "Many passwords are being checked at the moment.",
        code="sign_in_busy",
        fix="Try again in a few seconds.",
        headers={"Retry-After": "5"},
    )


def browser_session_needed() -> Forbidden:
    return Forbidden(
        "How you sign in can only be changed in a browser that is signed in, not with an API key.",
        code="browser_session_needed",
        fix="Open the settings in your browser.",
    )


def current_password_wrong() -> Forbidden:
    return Forbidden("The current password is wrong.", code="current_password_wrong")


def password_missing() -> Conflict:
    return Conflict("Your account has no password.", code="password_missing", fix="Set a password first.")


def login_name_taken() -> Conflict:
    return Conflict(
        "Another account has this login name.", code="login_name_taken", fix="Choose another login name."
    )


def login_name_invalid() -> BadRequest:
    return BadRequest(
        "A login name has 2 to 100 letters, digits and characters of `. _ - + @`, and begins with a letter "
        "or a digit.",
        code="login_name_invalid",
    )


def password_too_short(minimum: int) -> BadRequest:
    return BadRequest(
        f"A password has at least {minimum} characters.",
        code="password_too_short",
        fix="Several words that do not belong together are long and easy to remember.",
    )


def password_too_long(maximum: int) -> BadRequest:
    return BadRequest(f"A password has at most {maximum} characters.", code="password_too_long")


def password_too_common() -> BadRequest:
    return BadRequest(
        "This password is easy to guess.",
        code="password_too_common",
        fix="Use several words that do not belong together, or a password manager.",
    )


def password_is_own_name() -> BadRequest:
    return BadRequest(
        "This password is your name, your login name, your e-mail address or the name of this service.",
        code="password_is_own_name",
    )


def totp_is_on() -> Conflict:
    return Conflict(
        "Your account has an authenticator app already.",
        code="totp_is_on",
        fix="Remove it first.",
    )


def totp_is_off() -> Conflict:
    return Conflict("Your account has no authenticator app.", code="totp_is_off")


def totp_code_refused() -> Forbidden:
    """Returns the error `totp_code_wrong`, for a user who is signed in and has entered a wrong code."""
    return Forbidden(
        "This code is wrong, or it was used before.",
        code="totp_code_wrong",
        fix="Wait for the next code of your authenticator app. Compare the clocks of both devices.",
    )


def _span(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"

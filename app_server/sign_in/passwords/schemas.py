"""The request and reply bodies for passwords, authenticator apps and recovery codes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from app_server.core.database import Timestamp

# The policy refuses too long passwords with a clear error. These limits only bound the work.
_Password = Annotated[SecretStr, Field(min_length=1, max_length=2000)]
_LoginName = Annotated[str, Field(min_length=1, max_length=200)]
_Code = Annotated[str, Field(min_length=1, max_length=60)]


class SignInWithPassword(BaseModel):
    """The request body of a sign-in: a login name and a password. `code`: six digits of the authenticator
    app, or a recovery code; only users with an authenticator app must send it. For such users, a request
    without `code` gets the error `totp_code_needed`.
    """

    model_config = ConfigDict(extra="forbid")

    login_name: _LoginName
    password: _Password
    code: _Code | None = None


class PasswordSettings(BaseModel):
    """The user's settings for signing in by password.

    `is_offered`: whether this server allows passwords. `login_name`, `changed_at`: the login name, and the
    time of the password's last change; null if the user has no password. `totp_since`: the time when the
    authenticator app was confirmed; null if the user has none.
    """

    is_offered: bool
    login_name: str | None
    suggested_login_name: str
    changed_at: Timestamp | None
    totp_since: Timestamp | None
    recovery_codes_left: int


class SetPassword(BaseModel):
    """The request body with a new password. `current_password`: the present password; needed if the user has
    a password already.
    """

    model_config = ConfigDict(extra="forbid")

    login_name: _LoginName
    password: _Password
    current_password: _Password | None = None


class CurrentPassword(BaseModel):
    model_config = ConfigDict(extra="forbid")

    current_password: _Password


class TotpCode(BaseModel):
    """The request body with one code: six digits of the authenticator app, or a recovery code."""

    model_config = ConfigDict(extra="forbid")

    code: _Code


class TotpEnrolment(BaseModel):
    """The reply with a new secret for an authenticator app. `secret`: the secret in base32, which the user
    can type into the app. `uri`: the secret as a URI `otpauth://…`. `qr_svg`: the URI as a QR code in SVG.
    """

    model_config = ConfigDict(from_attributes=True)

    secret: str
    uri: str
    qr_svg: str


class RecoveryCodes(BaseModel):
    """The reply with new recovery codes. Each code can be entered once in place of a code of the
    authenticator app. The codes are shown only in this reply.
    """

    codes: list[str]

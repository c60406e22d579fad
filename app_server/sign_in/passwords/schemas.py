"""The request and reply bodies for passwords, authenticator apps and recovery codes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from app_server.core.database import Timestamp

# The policy refuses too long passwords with a clear error. These limits only bound the work.
_Password = Annotated[SecretStr, Field(min_length=1, max_length=2000)]
_LoginName = Annotated[str, Field(min_length=1, max_length=200)]
_Code = Annotated[str, Field(min_length=1, max_length=60)]


class SignInWithPassword(BaseModel):
    """A login name and a password. `code`: six digits of the authenticator app, or a recovery code; it is
    needed if the first try answers `totp_code_needed`.
    """

    model_config = ConfigDict(extra="forbid")

    login_name: _LoginName
    password: _Password
    code: _Code | None = None


class PasswordSettings(BaseModel):
    """The user's settings for signing in by password.

    `is_offered`: whether people can sign in with passwords here. `login_name`, `changed_at`: null if the user
    has no password. `totp_since`: null if the user has no authenticator app.
    """

    is_offered: bool
    login_name: str | None
    suggested_login_name: str
    changed_at: Timestamp | None
    totp_since: Timestamp | None
    recovery_codes_left: int


class SetPassword(BaseModel):
    """A new password. `current_password`: needed if the user has a password already."""

    model_config = ConfigDict(extra="forbid")

    login_name: _LoginName
    password: _Password
    current_password: _Password | None = None


class CurrentPassword(BaseModel):
    model_config = ConfigDict(extra="forbid")

    current_password: _Password


class TotpCode(BaseModel):
    """A code: six digits of the authenticator app, or a recovery code."""

    model_config = ConfigDict(extra="forbid")

    code: _Code


class TotpEnrolment(BaseModel):
    """A new secret for an authenticator app. `secret`: base32, to be typed into the app. `uri`:
    `otpauth://…`. `qr_svg`: the URI as a QR code in SVG.
    """

    model_config = ConfigDict(from_attributes=True)

    secret: str
    uri: str
    qr_svg: str


class RecoveryCodes(BaseModel):
    """New recovery codes. Each replaces one code of the app. They are shown only this once."""

    codes: list[str]

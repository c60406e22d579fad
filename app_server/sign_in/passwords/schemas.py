"""Passwords, codes and what a user has of them, on the wire."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from app_server.core.database import Timestamp

# Longer ones are refused by the policy, with a sentence; this bounds what is looked at.
_Password = Annotated[SecretStr, Field(min_length=1, max_length=2000)]
_LoginName = Annotated[str, Field(min_length=1, max_length=200)]
_Code = Annotated[str, Field(min_length=1, max_length=60)]


class SignInWithPassword(BaseModel):
    """`code`: six digits of the authenticator app, or a recovery code. It is needed after the answer
    `totp_code_needed`.
    """

    model_config = ConfigDict(extra="forbid")

    login_name: _LoginName
    password: _Password
    code: _Code | None = None


class PasswordSettings(BaseModel):
    """`is_offered`: whether people can sign in with passwords here. `login_name`, `changed_at`: null without
    a password. `totp_since`: null without an authenticator app.
    """

    is_offered: bool
    login_name: str | None
    suggested_login_name: str
    changed_at: Timestamp | None
    totp_since: Timestamp | None
    recovery_codes_left: int


class SetPassword(BaseModel):
    """`current_password`: needed if there is one."""

    model_config = ConfigDict(extra="forbid")

    login_name: _LoginName
    password: _Password
    current_password: _Password | None = None


class CurrentPassword(BaseModel):
    model_config = ConfigDict(extra="forbid")

    current_password: _Password


class TotpCode(BaseModel):
    """Six digits of the authenticator app, or a recovery code."""

    model_config = ConfigDict(extra="forbid")

    code: _Code


class TotpEnrolment(BaseModel):
    """`secret`: base32, to be typed into the app. `uri`: `otpauth://…`. `qr_svg`: an SVG picture of it."""

    model_config = ConfigDict(from_attributes=True)

    secret: str
    uri: str
    qr_svg: str


class RecoveryCodes(BaseModel):
    """Each stands in for one code of the app. They are shown only once."""

    codes: list[str]

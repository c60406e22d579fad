"""The configuration of the mail server through which Slipway sends e-mail."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app_server.core.errors import Conflict


class MailServer(BaseModel):
    """The configuration of the mail server (SMTP) through which Slipway sends e-mail. It comes from
    SLIPWAY_MAIL.

    `security`: with `tls`, the whole connection is encrypted. With `starttls`, the encryption begins after
    the connection is made, but before any e-mail or password is sent. With `none`, nothing is encrypted.
    `sender`: the e-mail address from which Slipway sends. `password_file`: a file with the password of
    `username`. `recipients`: the addresses and domains to which people who are not administrators may send
    e-mail. Administrators may send to all addresses.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(min_length=1, max_length=250)
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: str = Field(pattern=r"^[^@\s<>,;]+@[^@\s<>,;]+$", max_length=250)
    username: str | None = None
    password_file: Path | None = None
    recipients: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_sign_in(self) -> Self:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("username and password_file belong together")
        if self.password_file is not None and not self.password_file.is_file():
            raise ValueError("there is no file at the password_file")
        if self.password_file is not None and self.security == "none":
            raise ValueError("a password needs security starttls or tls")
        return self

    def may_write_to(self, address: str) -> bool:
        """Returns whether people who are not administrators may send e-mail to this address."""
        lower = address.lower()
        known = {each.lower().lstrip("@") for each in self.recipients}
        return lower in known or lower.rpartition("@")[2] in known


def require_mail_server(server: MailServer | None) -> MailServer:
    """Returns the configured mail server. Raises Conflict `no_mail_server` if no mail
    server is configured.
    """
    if server is None:
        raise Conflict(
            "This server cannot send e-mail.",
            code="no_mail_server",
            fix="Its administrator can name a mail server in SLIPWAY_MAIL.",
        )
    return server

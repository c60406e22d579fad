"""Sends one e-mail through the configured mail server."""

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from typing import Final

from app_server.core.mail.server import MailServer

TIMEOUT_SECONDS: Final = 15.0


class MailRefused(Exception):
    """The error that is raised if the mail server refuses an e-mail permanently. The message says why."""


class MailFailed(Exception):
    """The error that is raised if an e-mail could not be sent now, but may be sent later. The message says
    why.
    """


@dataclass(frozen=True)
class Letter:
    """An e-mail with plain text. `recipient`: the e-mail address. `subject`: one line. `message_id`: the part
    of the header `Message-ID` before the `@`. If the same e-mail is sent again after a failure, the same
    `message_id` is used, so that mail programs show the e-mail only once.
    """

    recipient: str
    subject: str
    text: str
    message_id: str


async def send(server: MailServer, letter: Letter) -> None:
    """Sends an e-mail through the mail server, and returns when the mail server has accepted it. Raises
    MailRefused if the mail server refuses the e-mail permanently. Raises MailFailed if the e-mail could not
    be sent now but may be sent later. Raises ValueError if the subject has several lines.
    """
    await asyncio.to_thread(_send, server, _message(server, letter))


def _message(server: MailServer, letter: Letter) -> EmailMessage:
    message = EmailMessage()
    message["From"] = Address("Slipway", addr_spec=server.sender)
    message["To"] = Address(addr_spec=letter.recipient)
    message["Subject"] = letter.subject
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{letter.message_id}@{server.sender.rpartition('@')[2]}>"
    # With this header, programs such as out-of-office replies do not answer.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.text)
    return message


def _send(server: MailServer, message: EmailMessage) -> None:
    try:
        with _connected(server) as connection:
            if server.username is not None and server.password_file is not None:
                connection.login(server.username, server.password_file.read_text().strip())
            connection.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        code, reason = next(iter(error.recipients.values()))
        raise _outcome(code, reason) from error
    except smtplib.SMTPResponseException as error:
        raise _outcome(error.smtp_code, error.smtp_error) from error
    except (OSError, smtplib.SMTPException) as error:
        raise MailFailed(f"{type(error).__name__}: {error}".rstrip(": ")) from error


def _connected(server: MailServer) -> smtplib.SMTP:
    if server.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_SECONDS, context=context)
    connection = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_SECONDS)
    if server.security == "starttls":
        try:
            connection.starttls(context=ssl.create_default_context())
        except BaseException:
            connection.close()
            raise
    return connection


def _outcome(code: int, reason: bytes | str) -> MailRefused | MailFailed:
    said = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
    text = f"The mail server answered {code}: {' '.join(said.split())[:500]}"
    # 5xx is final, but a failed sign-in is a matter of this server's configuration.
    return MailRefused(text) if 500 <= code < 600 and code not in (530, 534, 535) else MailFailed(text)

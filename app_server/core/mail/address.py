"""The type of an e-mail address to which Slipway can send e-mail, with its check."""

from typing import Annotated

from pydantic import Field

EmailAddress = Annotated[
    str,
    Field(max_length=250, pattern=r"^[^@\s\x00-\x20\x7f<>,;:\"()\[\]\\]+@[A-Za-z0-9][A-Za-z0-9.-]*$"),
]
"""One address without a name. It has no blanks, line ends, control characters or characters with a meaning in
headers, so that it can add neither headers nor recipients.
"""

"""The type of the e-mail addresses to which Slipway can send e-mail. Pydantic models use this type, so that a
text which is not a valid address is refused.
"""

from typing import Annotated

from pydantic import Field

EmailAddress = Annotated[
    str,
    Field(max_length=250, pattern=r"^[^@\s\x00-\x20\x7f<>,;:\"()\[\]\\]+@[A-Za-z0-9][A-Za-z0-9.-]*$"),
]
"""One e-mail address without the name of a person. It contains no blanks, line ends, control characters or
characters with a special meaning in e-mail headers. So it cannot add headers or recipients to an e-mail.
"""

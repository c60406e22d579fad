"""The HTTP reply of routes that change something and return no data. Such routes are a part of the API that
is compatible with OpenHands.
"""

from pydantic import BaseModel


class Done(BaseModel):
    message: str

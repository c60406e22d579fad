"""The reply of those routes of the OpenHands-compatible API that change something and return no data."""

from pydantic import BaseModel


class Done(BaseModel):
    message: str

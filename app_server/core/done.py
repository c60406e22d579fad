"""The reply of OpenHands API routes that change something and return no data."""

from pydantic import BaseModel


class Done(BaseModel):
    message: str

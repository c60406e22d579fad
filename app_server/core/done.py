"""The answer of the protocol's routes that change something and return none of it."""

from pydantic import BaseModel


class Done(BaseModel):
    message: str

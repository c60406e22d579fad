"""The base class of request bodies of public routes."""

from pydantic import BaseModel, ConfigDict


class StrictBody(BaseModel):
    """A request body that refuses unknown fields with 422. If a route ignored a misspelled field, it could do
    more than the client asked for.
    """

    model_config = ConfigDict(extra="forbid")

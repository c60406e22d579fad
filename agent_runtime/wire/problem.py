"""The model of the error replies of the agent server and of the app server."""

from pydantic import BaseModel, ConfigDict

PROBLEM_MEDIA_TYPE = "application/problem+json"


class InputError(BaseModel):
    loc: list[str | int]
    msg: str
    type: str


class Problem(BaseModel):
    """The body of an error reply, as RFC 9457 defines it. `code`: the name of the problem, which programs may
    rely on. `errors`: the invalid fields of the request. Bodies with some codes have additional fields.
    """

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    fix: str | None = None
    errors: list[InputError] | None = None

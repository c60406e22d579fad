"""How both servers answer what fails."""

from pydantic import BaseModel, ConfigDict

PROBLEM_MEDIA_TYPE = "application/problem+json"


class InputError(BaseModel):
    loc: list[str | int]
    msg: str
    type: str


class Problem(BaseModel):
    """RFC 9457. `code` is stable; `errors` tells what is wrong with which input; codes may add members."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    fix: str | None = None
    errors: list[InputError] | None = None

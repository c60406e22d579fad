"""The error document of the agent server and of the app server."""

from pydantic import BaseModel, ConfigDict

PROBLEM_MEDIA_TYPE = "application/problem+json"


class InputError(BaseModel):
    loc: list[str | int]
    msg: str
    type: str


class Problem(BaseModel):
    """An RFC 9457 problem. `code` is stable. `errors` lists the invalid inputs. Some codes add members."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    fix: str | None = None
    errors: list[InputError] | None = None

"""Schemas of the requests and replies about MCP servers. Requests can contain the values of headers and
variables. Replies never contain them. The fields have the same names as in OpenHands' MCP settings, because
clients of OpenHands can use Slipway.
"""

import re
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    StringConstraints,
    TypeAdapter,
    model_validator,
)

from app_server.core.addresses import BadHost, parse_rule
from app_server.http.response_redaction import MIN_CHARACTERS
from app_server.http.strict_body import StrictBody
from app_server.mcp_servers.models import MAX_NAME_CHARACTERS

MASK = "**********"
"""The text that replaces the value of a header or a variable in replies. If a client sends this text as a
value, the stored value is kept.
"""
MAX_HEADERS = 20
MAX_ARGUMENTS = 100
MAX_VARIABLES = 50
MAX_HOSTS_OF_VARIABLE = 10
DEFAULT_CALL_SECONDS = 300.0

# Used in addresses and as a part of tools' names.
_NAME_PATTERN = rf"^[A-Za-z0-9_-]{{1,{MAX_NAME_CHARACTERS}}}$"
_HTTP_URL: TypeAdapter[HttpUrl] = TypeAdapter(HttpUrl)
# Headers that the broker sends itself, or that belong to the connection.
_TAKEN_HEADERS = re.compile(
    r"host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|proxy-.*|accept|accept-encoding"
    r"|last-event-id|mcp-.*",
    re.IGNORECASE,
)

Transport = Literal["stdio", "http"]


def _checked_url(text: str) -> str:
    url = _HTTP_URL.validate_python(text)
    if url.username or url.password:
        raise ValueError("credentials belong in headers, not in the URL")
    if url.fragment:
        raise ValueError("the URL must not have a fragment")
    return text


def _free_header(name: str) -> str:
    if _TAKEN_HEADERS.fullmatch(name):
        raise ValueError(f"the header {name} is sent by Slipway itself")
    return name


def _one_host(text: str) -> str:
    try:
        rule = parse_rule(text)
    except BadHost as error:
        raise ValueError(str(error)) from error
    if rule.is_wildcard:
        raise ValueError("name each host in full: a value goes to no other host")
    return str(rule)


def _transport(given: Any) -> Any:
    """Converts the name of a transport (how clients exchange messages with the MCP server) to the name that
    Slipway stores. Returns `http` for OpenHands' names `shttp` and `streamable-http`, and other values
    unchanged. Raises ValueError for `sse`, which is not supported. `given`: the value of the request's field
    `transport`.
    """
    if given == "sse":
        raise ValueError("the older SSE transport is not supported; servers that offer it offer `http`, too")
    return "http" if given in ("shttp", "streamable-http") else given


ServerName = Annotated[str, StringConstraints(pattern=_NAME_PATTERN)]
ServerNameInPath = Annotated[str, Path(pattern=_NAME_PATTERN)]
Url = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000), AfterValidator(_checked_url)]
HeaderName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"),
    AfterValidator(_free_header),
]
HeaderValue = Annotated[
    str, StringConstraints(pattern=r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$", max_length=8000)
]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
HostName = Annotated[str, StringConstraints(min_length=1, max_length=260), AfterValidator(_one_host)]
Word = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=4000)]


class OAuth(BaseModel):
    """Says that the user must sign in to the MCP server with OAuth before agents can use it. `strategy`:
    always `oauth2`. The tokens of the sign-in are stored separately.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    strategy: Literal["oauth2"]


class Definition(BaseModel):
    """The definition of an MCP server: either a URL with its headers, or a command that runs in the sandbox.

    `auth`: null if the server needs no sign-in. `timeout`: the maximum duration of a call in seconds. `cwd`:
    the working directory of the command. `env`: the environment variables of the command. Replies do not show
    their values.

    `env_hosts`: for each variable, the hosts (`name` or `name:port`) to which its value may be sent. If a
    variable has hosts, its value stays in the app server, and the command gets a placeholder. When the
    sandbox sends an https request to one of these hosts, the app server replaces the placeholder in the
    headers by the value. The sandbox is also allowed to reach these hosts. If a variable has no hosts,
    everything in the sandbox can read its value. A well-known variable that is missing in `env_hosts` gets
    the hosts of its service.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    transport: Annotated[Transport | None, BeforeValidator(_transport)] = None
    url: Url | None = None
    headers: dict[HeaderName, HeaderValue] = Field(default={}, max_length=MAX_HEADERS)
    auth: OAuth | None = None
    command: Annotated[Word, StringConstraints(min_length=1)] | None = None
    args: list[Word] = Field(default=[], max_length=MAX_ARGUMENTS)
    env: dict[VariableName, Word] = Field(default={}, max_length=MAX_VARIABLES)
    env_hosts: dict[VariableName, Annotated[list[HostName], Field(max_length=MAX_HOSTS_OF_VARIABLE)]] = {}
    cwd: Annotated[Word, StringConstraints(min_length=1)] | None = None
    timeout: float = Field(default=DEFAULT_CALL_SECONDS, gt=0, le=3600)
    description: Annotated[str, StringConstraints(max_length=1000)] | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "Definition":
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server has either a `url` or a `command`")
        if self.transport not in (None, self.kind):
            raise ValueError(f"the transport {self.transport} does not go with what is given")
        if self.command is not None and (self.headers or self.auth):
            raise ValueError("a command has no headers and no sign-in")
        if self.auth and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("a server has either a sign-in or the header Authorization")
        if self.url is not None and (self.args or self.env or self.env_hosts or self.cwd):
            raise ValueError("`args`, `env`, `env_hosts` and `cwd` belong to a command")
        for name, hosts in self.env_hosts.items():
            _check_variable(name, self.env.get(name), hosts)
        return self

    @property
    def kind(self) -> Transport:
        return "http" if self.url is not None else "stdio"


def can_be_brokered(value: str) -> bool:
    """Returns whether the value of a variable can stay in the app server, so that the sandbox gets only a
    placeholder.

    The value must be allowed in an HTTP header, because the app server puts it into the headers of requests.
    It must also have at least MIN_CHARACTERS characters, so that the app server can find and remove it in
    replies.
    """
    is_plain = value.isascii() and value.isprintable() and value == value.strip()
    return is_plain and len(value) >= MIN_CHARACTERS


def _check_variable(name: str, value: str | None, hosts: list[str]) -> None:
    if value is None:
        raise ValueError(f"`env_hosts` names {name}, which is not a variable in `env`")
    if hosts and not can_be_brokered(value):
        raise ValueError(
            f"{name} cannot stay in the app server: its value needs at least {MIN_CHARACTERS} characters of"
            " printable ASCII, without spaces around them"
        )


def _without_nulls(given: Any) -> Any:
    """Returns the fields of a request without null values, and with the field `type` renamed to `transport`.
    Clients send null for empty fields, and some send `type` instead of `transport`.
    """
    if not isinstance(given, dict):
        return given
    named = {"transport": given["type"]} if "transport" not in given and "type" in given else {}
    return {key: value for key, value in {**given, **named}.items() if value is not None and key != "type"}


class SaveMcpServer(Definition):
    """The complete data of an MCP server that is added or changed. `enabled`: whether agents can use the
    server. If the value of a header or a variable is MASK (asterisks), the stored value of this header or
    variable is kept.
    """

    enabled: bool = True

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, given: Any) -> Any:
        return _without_nulls(given)

    def definition(self) -> Definition:
        return Definition.model_validate(self.model_dump(include=set(Definition.model_fields)))


class SaveMcpServerOfLevel(SaveMcpServer):
    """A request to add or replace an MCP server of the organisation or a team. `enforced`: if true, people
    get this server even if they have added a server with the same name.
    """

    enforced: bool = False


class ChangeMcpServer(BaseModel):
    """A request to change an MCP server. It can contain any fields of SaveMcpServer. A field that is left out
    does not change. A field that is null gets its default value. The changed server must be a valid
    SaveMcpServer.
    """

    model_config = ConfigDict(extra="allow")


SignInState = Literal["none", "connected", "expired", "more_wanted"]


class McpServerInfo(BaseModel):
    """An MCP server, as the HTTP routes return it. `headers` and `env`: the headers and the environment
    variables, by name; asterisks replace their values.

    `env_hosts`: for each variable, the hosts to which its value may be sent. If a variable has no hosts,
    everything in the sandbox can read its value. `sign_in`: the state of the user's sign-in; null if `auth`
    is null. `wanted_scope`: if `sign_in` is `more_wanted`, the OAuth scope that the next sign-in will ask
    for; empty if the server did not say which scope it needs.
    """

    transport: Transport
    url: str | None
    headers: dict[str, str]
    auth: OAuth | None
    sign_in: SignInState | None
    wanted_scope: str | None = None
    command: str | None
    args: list[str]
    env: dict[str, str]
    env_hosts: dict[str, list[str]]
    cwd: str | None
    timeout: float
    description: str | None
    enabled: bool


class McpSettings(BaseModel):
    """The reply with all MCP servers that the user has added. `mcp_config`: the servers by name."""

    mcp_config: dict[str, McpServerInfo]


class McpToolInfo(BaseModel):
    name: str
    title: str | None
    description: str | None


class SignInStarted(BaseModel):
    """The reply when a sign-in to an MCP server has started. `authorization_url`: the address that the user's
    browser must open.
    """

    authorization_url: str


class FinishSignIn(StrictBody):
    """A request to finish a sign-in to an MCP server. It has the URL parameters with which the authorization
    server has sent the user's browser back to Slipway.

    `state`: identifies the sign-in. `code`: the authorization code; null if the sign-in was refused. `error`:
    the reason for the refusal. `iss`: the issuer, which is the address of the authorization server.
    """

    state: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    code: Annotated[str, StringConstraints(min_length=1, max_length=8000)] | None = None
    error: Annotated[str, StringConstraints(max_length=1000)] | None = None
    iss: Annotated[str, StringConstraints(max_length=2000)] | None = None


class SignedIn(BaseModel):
    """The reply when a sign-in to an MCP server is finished. `name`: the name of the MCP server that the user
    is now signed in to.
    """

    name: str


McpTroubleKind = Literal["timeout", "connection", "refused", "unknown"]


class McpTestReport(BaseModel):
    """The reply with the result of a test of an MCP server. `ok`: whether the server has replied; then
    `tools` lists its tools. Otherwise `error` gives the reason and `fix` says what to do.
    """

    ok: bool
    tools: list[McpToolInfo] = []
    error: str | None = None
    error_kind: McpTroubleKind | None = None
    fix: str | None = None

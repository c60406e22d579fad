"""Sends requests to the REST API of Azure DevOps. Determines the organisation, the repository and the base
address for each request.

Source: https://learn.microsoft.com/rest/api/azure/devops/. Each request states the version of the API.
"""

from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx

from app_server.core.errors import AppError, BadGateway
from app_server.git_hosts import errors
from app_server.git_hosts.azure_devops import parsing
from app_server.git_hosts.connection import HostAccess, HostConnection, HostReply, Query
from app_server.git_hosts.paths_and_bodies import part

CLOUD = "https://dev.azure.com"
VERSION = "7.1"
PREVIEW = "7.1-preview.1"
_IDENTITIES = "https://vssps.dev.azure.com"
_PROFILES = "https://app.vssps.visualstudio.com"
_OLD_DOMAIN = ".visualstudio.com"
_JWT_BEGINNING = "eyJ"
_OLD_COLLECTION = "DefaultCollection"
_MAX_ORGANIZATIONS = 20
_MAX_PEOPLE = 1


@dataclass(frozen=True)
class AzureRepository:
    """A repository at Azure DevOps: its organisation, its project and its name."""

    organization: str
    project: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.organization}/{self.project}/{self.name}"

    @property
    def project_path(self) -> str:
        return f"/{part(self.organization)}/{part(self.project)}/_apis"

    @property
    def path(self) -> str:
        return f"{self.project_path}/git/repositories/{part(self.name)}"


class AzureApi:
    """A client of the REST API of Azure DevOps that uses one token. `connection`: the connection to the API,
    whose headers contain the token. `organization`: the only organisation that the token may be used for;
    None means all organisations of the token's user.
    """

    def __init__(self, connection: HostConnection, organization: str | None) -> None:
        self._api = connection
        self._organization = organization
        is_cloud = connection.api_url == CLOUD
        self._identities = replace(connection, api_url=_IDENTITIES) if is_cloud else connection
        self._profiles = replace(connection, api_url=_PROFILES) if is_cloud else connection

    @property
    def host(self) -> str:
        return self._api.host

    def parse_name(self, repository: str) -> AzureRepository:
        """Splits the full name of a repository (`organization/project/name`) into its three parts. If the
        token is for one organisation only, the name may lack the organisation. Raises NotFound for a name of
        another form.
        """
        names = [name for name in repository.split("/") if name != _OLD_COLLECTION]
        if len(names) == 2 and self._organization:
            names = [self._organization, *names]
        if len(names) != 3:
            raise errors.refused(self.host, 404, "names are written as organization/project/repository")
        return AzureRepository(*names)

    def web(self, azure_repository: AzureRepository) -> str:
        """Returns the web address of a repository. Both browsers and git use this address."""
        names = (
            f"{part(azure_repository.organization)}/{part(azure_repository.project)}"
            f"/_git/{part(azure_repository.name)}"
        )
        return f"{self._api.api_url}/{names}"

    async def get(self, path: str, query: Query | None = None, version: str = VERSION) -> HostReply:
        return await self._api.get(path, {**(query or {}), "api-version": version})

    async def all(self, path: str, query: Query | None = None, version: str = VERSION) -> list[Any]:
        """Requests a list that Azure DevOps does not split into pages, and returns its items. `path`: the
        path of the list in the REST API. `query`: the query parameters of the request. `version`: the version
        of the REST API.
        """
        return parsing.items((await self.get(path, query, version)).json())

    async def send(
        self, method: str, path: str, body: Any, version: str = VERSION, query: Query | None = None
    ) -> Any:
        return (await self._api.send(method, path, body, {**(query or {}), "api-version": version})).json()

    async def raw(self, path: str, query: Query, accept: str, max_bytes: int | None = None) -> bytes | None:
        """Requests a resource that is not JSON, such as a file or a log, and returns its bytes.

        `accept`: the media type in which Azure DevOps is asked to send the resource. `max_bytes`: the largest
        accepted size; None means MAX_REPLY_BYTES of `connection.py`. Raises BadGateway `git_host_failed` if
        the resource is larger.

        A missing resource (status 404): if `max_bytes` is None, returns None. If `max_bytes` is a number,
        raises NotFound `git_host_not_found`. Raises BadGateway `git_token_refused` if the reply is a sign-in
        page.
        """
        words = {**query, "api-version": VERSION}
        if max_bytes is None:
            reply = await self._api.find(path, words, accept=accept)
        else:
            reply = await self._api.get(path, words, accept=accept, max_bytes=max_bytes)
        if reply is None:
            return None
        is_elsewhere = urlsplit(reply.url).netloc != urlsplit(self._api.api_url).netloc
        if reply.status == httpx.codes.NON_AUTHORITATIVE_INFORMATION or is_elsewhere:
            raise errors.token_refused(self.host)  # the page for signing in
        return reply.content

    async def organizations(self) -> list[str]:
        if self._organization:
            return [self._organization]
        query: Query = {"memberId": (await self.profile())["id"], "api-version": VERSION}
        found = parsing.items((await self._profiles.get("/_apis/accounts", query)).json())
        return sorted(one["accountName"] for one in found)[:_MAX_ORGANIZATIONS]

    async def profile(self) -> dict[str, Any]:
        """Returns the profile of the token's user. Raises BadGateway `git_token_refused` if the token is not
        valid or if it is valid for one organisation only (such a token may not read the profile).
        """
        try:
            reply = await self._profiles.get("/_apis/profile/profiles/me", {"api-version": VERSION})
        except AppError as error:
            if error.code != "git_token_refused":
                raise
            raise BadGateway(
                f"{self.host} refuses the token.",
                code="git_token_refused",
                fix="Is the token for one organization only? Then give its address as the API address: "
                f"{CLOUD}/ORGANIZATION. Else add a new token.",
            ) from error
        found: dict[str, Any] = reply.json()
        return found

    async def me(self, organization: str | None = None) -> dict[str, Any] | None:
        """Returns the token's user as a member of an organisation, as the JSON object that Azure DevOps
        sends. Raises BadGateway `git_token_refused` if the token is not valid.

        `organization`: the name of the organisation. If it is None, uses the organisation for which this
        client was created. Returns None if there is no such organisation either.
        """
        name = organization or self._organization
        if name is None:
            return None
        found = (await self.get(f"/{part(name)}/_apis/connectionData", version=PREVIEW)).json()
        user: dict[str, Any] = found["authenticatedUser"]
        if user.get("providerDisplayName") == "Anonymous":
            raise errors.token_refused(self.host)
        return user

    async def person(self, organization: str, name: str) -> dict[str, Any] | None:
        """Finds a person of an organisation by e-mail address or name. Returns None if no person or more than
        one person matches.
        """
        query: Query = {"searchFilter": "General", "filterValue": name, "api-version": VERSION}
        reply = await self._identities.get(f"/{part(organization)}/_apis/identities", query)
        found = [one for one in parsing.items(reply.json()) if parsing.is_called(one, name)]
        return found[0] if len(found) == _MAX_PEOPLE else None


def azure_api(access: HostAccess) -> AzureApi:
    """Returns the API client for this token. `access.api_url`: `https://dev.azure.com/ORGANIZATION`, or the
    address of a collection (a group of projects) at Azure DevOps Server; None means `access.origin`.
    """
    base, organization = _base(access.origin, access.api_url)
    headers = {"Authorization": _authorization(access.token), "Accept": "application/json"}
    return AzureApi(access.connection(base, headers, parsing.reason_of), organization)


def _authorization(token: str) -> str:
    """Returns the `Authorization` header for a personal access token, or for a token of Microsoft Entra,
    which is a JWT.
    """
    if token.startswith(_JWT_BEGINNING):
        return f"Bearer {token}"
    return f"Basic {b64encode(f':{token}'.encode()).decode()}"


def _base(origin: str, api_url: str | None) -> tuple[str, str | None]:
    address = urlsplit(api_url or origin)
    if address.netloc.endswith(_OLD_DOMAIN):
        return CLOUD, address.netloc.removesuffix(_OLD_DOMAIN)
    above, _, organization = address.path.strip("/").rpartition("/")
    base = f"{address.scheme}://{address.netloc}"
    return f"{base}/{above}".rstrip("/"), organization or None

"""Declares which permission each route requires. The public app does not start if one of its routes declares
none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.requests import HTTPConnection

from app_server.access.authentication import authenticate
from app_server.access.permissions import Permission, permissions_of
from app_server.access.principal import Principal
from app_server.core.errors import Forbidden

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


@dataclass(frozen=True)
class RouteAccess:
    """The permissions that the routes of a router require: `read` for safe HTTP methods, `change` for all
    other methods.

    None in a field means that no sign-in is required. WebSocket streams check the `read` permission in their
    own code, because they must refuse a client with a close code, not with an HTTP status.
    """

    read: Permission | None
    change: Permission | None

    def permission(self, method: str) -> Permission | None:
        return self.read if method in _SAFE_METHODS else self.change

    async def __call__(self, connection: HTTPConnection) -> None:
        """Checks that the request has the permission that its HTTP method requires.

        Raises NotAuthenticated if the user is not signed in. Raises Forbidden `permission_missing` if the
        request does not have the permission.
        """
        if connection.scope["type"] != "http":
            return
        permission = self.permission(connection.scope["method"])
        if permission is None:
            return
        principal = await authenticate(connection)
        if not principal.may(permission):
            raise permission_missing(permission)


OPEN = RouteAccess(read=None, change=None)
WORK = RouteAccess(read=Permission.READ, change=Permission.WORK)
SETTINGS = RouteAccess(read=Permission.READ, change=Permission.SETTINGS)
KEYS = RouteAccess(read=Permission.READ, change=Permission.KEYS)
ADMINISTER = RouteAccess(read=Permission.ADMINISTER, change=Permission.ADMINISTER)
INSTALLATION = RouteAccess(read=Permission.INSTALLATION, change=Permission.INSTALLATION)
"""The required permissions for routes of data that all organisations share."""
TEAMS = RouteAccess(read=Permission.READ, change=Permission.ADMINISTER)
"""The required permissions for routes of teams: users can read the teams of which they are members;
administrators can read and change all teams.
"""
MCP = RouteAccess(read=Permission.READ, change=Permission.READ)
"""The required permissions for the route of the MCP server. The MCP server also checks the permission that
each of its tools requires.
"""
AUDIT = RouteAccess(read=Permission.AUDIT, change=Permission.AUDIT)


def permission_missing(permission: Permission) -> Forbidden:
    return Forbidden(
        f"This needs the permission `{permission}`, which your role or your API key does not have.",
        code="permission_missing",
        fix="Ask an administrator for another role, or use a key with this scope.",
    )


def refuse_narrowed_key(principal: Principal, permission: Permission) -> None:
    """Checks that the API key of a request may change a thing of its user that applies to other users, too.
    `permission`: the permission with which a user makes things apply to other users.

    Raises Forbidden `permission_missing` if the user's role includes the permission and the scopes of the key
    leave it out. If the role does not include it, the things of the user apply to the user only. Then the
    user may change them.
    """
    user = principal.user
    if permission in permissions_of(user.role, user.organisation_id) and not principal.may(permission):
        raise permission_missing(permission)


def require_stated(router: APIRouter, dependencies: Sequence[Any]) -> None:
    """Checks that a router states which permissions its routes require. It does so with a RouteAccess among
    its dependencies, which checks the permission of each request. `router`: the router that is added to the
    app. `dependencies`: the FastAPI dependencies with which it is added.

    Raises RuntimeError with the paths of the router's routes if there is no RouteAccess. So a router without
    this check cannot be added.
    """
    if not any(isinstance(one.dependency, RouteAccess) for one in dependencies):
        paths = ", ".join(sorted({str(getattr(route, "path", route)) for route in router.routes}))
        raise RuntimeError(f"These routes state no access, see app_server/routers.py: {paths}")


def add_permissions(app: FastAPI, description: dict[str, Any]) -> None:
    """Adds the required permission to each operation (a method of a route) in an OpenAPI description. The
    permission is in the field `x-permission`. `description`: the OpenAPI description of `app`.
    """
    for route, access in _routes(app):
        operations = description["paths"].get(route.path, {})
        for method in route.methods or ():
            if access and method.lower() in operations:
                operations[method.lower()]["x-permission"] = access.permission(method)


def depends_on(access: RouteAccess) -> Any:
    """Returns the FastAPI dependency that checks the permissions in `access` for each request. The dependency
    is passed to `include_router`.
    """
    return Depends(access)


def _routes(app: FastAPI) -> Iterator[tuple[RouteContext, RouteAccess | None]]:
    for context in iter_route_contexts(app.routes):
        if isinstance(context.original_route, APIRoute):
            stated = (one.dependency for one in context.dependencies)
            yield context, next((one for one in stated if isinstance(one, RouteAccess)), None)

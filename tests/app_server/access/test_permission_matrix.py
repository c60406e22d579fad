"""Tests of permissions: calls every operation of the public API as each role, and with keys of each scope."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import APIRouter

from app_server import main
from app_server.access.permissions import Permission
from app_server.core.config import Config
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client

READ, WORK, SETTINGS, KEYS, ADMINISTER, INSTALLATION, AUDIT = Permission
EVERYTHING = {READ, WORK, SETTINGS, KEYS, ADMINISTER, INSTALLATION, AUDIT}
MEANS: dict[str, tuple[Role, list[Permission] | None, set[Permission]]] = {
    "a viewer": (Role.VIEWER, None, {READ, KEYS}),
    "a member": (Role.MEMBER, None, {READ, WORK, SETTINGS, KEYS}),
    "an admin": (Role.ADMIN, None, EVERYTHING),
    "a member's key to read": (Role.MEMBER, [READ], {READ}),
    "a member's key to work": (Role.MEMBER, [READ, WORK], {READ, WORK}),
    "a member's key for settings": (Role.MEMBER, [READ, SETTINGS], {READ, SETTINGS}),
    "a member's key for keys": (Role.MEMBER, [READ, KEYS], {READ, KEYS}),
    "a key with scopes that its viewer does not have": (Role.VIEWER, list(Permission), {READ, KEYS}),
    "an admin's key to administer": (Role.ADMIN, [READ, ADMINISTER], {READ, ADMINISTER}),
    "an admin's key for the audit log": (Role.ADMIN, [AUDIT], {AUDIT}),
}


# One database kind is enough: the same query decides about the permissions of every operation.
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("means", MEANS)
async def test_every_operation_asks_for_its_permission(app: App, means: str) -> None:
    role, scopes, expected = MEANS[means]
    wrong = []
    async with acting_as(app, role, scopes) as client:
        for method, path, permission in operations():
            reply = await client.request(method, path, json=[] if method != "GET" else None)
            is_refused = reply.status_code == 403 and reply.json()["code"] == "permission_missing"
            if is_refused is (permission is None or permission in expected) or reply.status_code == 401:
                wrong.append((method, path, permission, reply.status_code, reply.text[:200]))
    assert not wrong


def test_an_app_with_a_route_that_states_no_access_does_not_start(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = APIRouter()
    router.add_api_route("/api/v1/forgotten", lambda: None)
    install = main.install_database_errors

    def with_another_route(app: Any) -> None:
        app.include_router(router)
        install(app)

    monkeypatch.setattr(main, "install_database_errors", with_another_route)
    with pytest.raises(RuntimeError, match="/api/v1/forgotten"):
        main.create_app(config)


def operations() -> Iterator[tuple[str, str, Permission | None]]:
    """Yields (method, path, required permission) of every operation. The ids in the path do not exist. None
    means that the operation needs no permission.
    """
    for path, by_method in description()["paths"].items():
        if path == "/api/v1/users/me/stream":
            continue  # the stream does not end; sharing/test_user_stream.py tests it
        if path == "/api/v1/sandboxes/{sandbox_id}/settings/secrets":
            continue  # accepts only gateway keys; conversations/test_sandbox_routes.py tests it
        named = path
        for parameter in (part[1:-1] for part in path.split("/") if part.startswith("{")):
            named = named.replace(f"{{{parameter}}}", str(uuid4()))
        for method, operation in by_method.items():
            permission = operation["x-permission"]
            yield method.upper(), named, None if permission is None else Permission(permission)


@cache
def description() -> dict[str, Any]:
    return main.create_app(Config(home=Path("unused"))).openapi()


@asynccontextmanager
async def acting_as(
    app: App, role: Role, scopes: list[Permission] | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    async with app.database.session() as session:
        user = await create_user(session, name=str(role), role=role)
        _, key = await create_api_key(session, user, name="matrix", scopes=scopes)
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client

"""Tests of groups of an identity provider that are mapped to teams: each sign-in sets the teams of the
person again.
"""

import httpx
import pytest

from app_server.core.identity_providers import IdentityProvider
from app_server.sign_in.identities.accounts import account_of
from app_server.sign_in.oidc.identity import identity_of
from tests.app_server.conftest import App

pytestmark = pytest.mark.both_databases

PROVIDER = IdentityProvider(
    name="acme",
    title="Acme",
    issuer="https://id.test",
    client_id="slipway",
    teams={"eng": "Engineering", "platform": "Platform"},
)


async def sign_in(app: App, *groups: str) -> str:
    """Signs in one person, Ada, with these groups of the identity provider. Returns the id of the user."""
    async with app.database.session() as session:
        identity = identity_of(PROVIDER, {"sub": "1", "name": "Ada", "groups": [*groups]})
        user, _ = await account_of(session, PROVIDER, identity, None)
    return user.id.hex


async def members(client: httpx.AsyncClient) -> dict[str, list[str | None]]:
    """Returns for each team, by name, a list with an entry per member: the identity provider that added the
    member, or None.
    """
    found = {}
    for team in (await client.get("/api/v1/teams")).json():
        details = (await client.get(f"/api/v1/teams/{team['id']}")).json()
        found[team["name"]] = [one["provider"] for one in details["members"]]
    return found


async def test_each_sign_in_sets_the_teams_that_the_groups_give(app: App, client: httpx.AsyncClient) -> None:
    made = {}
    for name in ("engineering", "Own"):
        made[name] = (await client.post("/api/v1/teams", json={"name": name})).json()["id"]
    user_id = await sign_in(app, "eng", "platform", "unknown")
    assert await members(client) == {"engineering": ["acme"], "Own": [], "Platform": ["acme"]}

    for team_id in made.values():
        await client.put(f"/api/v1/teams/{team_id}/members/{user_id}")
    assert await sign_in(app, "eng") == user_id
    assert await members(client) == {"engineering": [None], "Own": [None], "Platform": []}
    await sign_in(app)
    assert await members(client) == {"engineering": [None], "Own": [None], "Platform": []}

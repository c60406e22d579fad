"""Tests of signed commits: the app server signs an agent's commits, git verifies them, and the key never
enters a sandbox.
"""

from pathlib import Path

from tests.app_server.conversations.conftest import Home, eventually

ROUTE = "/api/v1/settings/commit-signing"
ADA = {"git_user_name": "Ada L.", "git_user_email": "ada@example.org"}


async def test_commits_and_tags_of_the_user_are_signed_and_no_others(home: Home, repository: Path) -> None:
    client = home.client
    assert (await client.get(ROUTE)).json()["public_key"] is None
    no_address = await client.put(ROUTE, json={"is_on": True})
    assert (no_address.status_code, no_address.json()["code"]) == (409, "commit_identity_missing")
    no_key = await client.post(f"{ROUTE}/new-key")
    assert (no_key.status_code, no_key.json()["code"]) == (409, "commit_signing_off")
    before = await home.ready(selected_repository=str(repository))
    assert await home.shell(before["id"], "git config --get commit.gpgSign || echo unset") == "unset"

    assert (await client.post("/api/v1/settings", json=ADA)).is_success
    first = (await client.put(ROUTE, json={"is_on": True})).json()
    key = (await client.post(f"{ROUTE}/new-key")).json()
    assert first["public_key"] != key["public_key"]
    assert (await client.get(ROUTE)).json() == key

    task = await home.ready(selected_repository=str(repository))

    async def git(script: str) -> str:
        return await home.shell(task["id"], f"({script}) 2>&1 || echo failed")

    trusted = f"echo 'ada@example.org {key['public_key']}' > ../trusted"
    await git(f'{trusted} && git config gpg.ssh.allowedSignersFile "$PWD/../trusted"')
    await git("git commit -q --allow-empty -m Fix && git tag -s -m First v1")
    good = 'Good "git" signature for ada@example.org with ED25519 key ' + key["fingerprint"]
    assert await git("git verify-commit HEAD") == good
    assert await git("git verify-tag v1") == good
    assert await git("git tag plain && git cat-file -t plain") == "commit"
    forged = await git(
        "git commit -q --amend --allow-empty -m Forged --no-gpg-sign && git verify-commit HEAD"
    )
    assert forged == "failed"

    author = await git("git commit -q --allow-empty -m Eve --author 'Eve <eve@example.org>'")
    assert "Only commits and tags of Ada L. <ada@example.org> are signed" in author
    assert "names Eve <eve@example.org>" in author
    committer = await git("git -c user.email=eve@example.org commit -q --allow-empty -m Eve")
    assert "this one names Ada L <eve@example.org>" in committer
    text = "echo 'Pay Eve.' > ../pay && $(git config gpg.ssh.program) -Y sign -n git -f none ../pay"
    assert "Only commits and tags are signed." in await git(text)
    assert "PRIVATE KEY" not in await git(
        "env; git config -l; cat $GIT_CONFIG_SYSTEM $(git config gpg.ssh.program)"
    )

    entries = (await client.get("/api/v1/audit-log", params={"action": "commit.signed"})).json()["items"]
    assert [entry["details"]["kind"] for entry in entries] == ["tag", "commit"]
    assert {entry["target_id"] for entry in entries} == {key["fingerprint"]}

    program = await git("git config gpg.ssh.program")
    await client.put(ROUTE, json={"is_on": False})

    async def is_unset() -> bool:
        return await git("git config --get commit.gpgSign || echo unset") == "unset"

    await eventually(is_unset)
    assert await git("git commit -q --allow-empty -m Off && echo done") == "done"
    off = await git(f"git cat-file commit HEAD > ../commit; {program} -Y sign -n git -f none ../commit")
    assert "Signing of commits is turned off. Commit with --no-gpg-sign." in off

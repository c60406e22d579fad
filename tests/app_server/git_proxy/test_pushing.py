"""Tests of pushes through the git proxy: which are accepted or refused, what git shows, and what is
recorded.
"""

import asyncio
import os
import signal

import pytest
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.git.models import PushScope
from tests.app_server.eventually import eventually
from tests.app_server.git_proxy.conftest import CANARY, Sandbox, until
from tests.support.git_host import GitHost, git
from tests.support.patience import PATIENCE_SECONDS

HARBOUR = "team/harbour"


async def test_a_new_branch_is_pushed_changed_forced_and_deleted(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    first = await sandbox.commit()
    done = await sandbox.push("HEAD:refs/heads/mend")
    assert done.status == 0, done.output
    assert host.branches(HARBOUR)["refs/heads/mend"] == first
    await sandbox.git("commit", "-q", "--amend", "-m", "Another")
    assert (await sandbox.push("--force", "HEAD:refs/heads/mend")).status == 0
    assert host.branches(HARBOUR)["refs/heads/mend"] != first
    assert (await sandbox.push(":refs/heads/mend")).status == 0
    assert "refs/heads/mend" not in host.branches(HARBOUR)
    assert await sandbox.record() == [("refs/heads/mend", "accepted", None)] * 3
    async with sandbox.app.database.read() as session:
        told = (await session.scalars(select(AuditEntry).order_by(AuditEntry.id))).all()
    assert [(one.action, one.means, one.target_id) for one in told] == [
        ("git.pushed", "sandbox", f"{host.origin.removeprefix('http://')}/{HARBOUR}")
    ] * 3
    assert told[0].details["new_commit"] == first


@pytest.mark.parametrize(
    ("refspec", "reason"),
    [
        ("HEAD:refs/heads/main", "this branch was not made by this conversation"),
        ("+HEAD:refs/heads/theirs", "this branch was not made by this conversation"),
        (":refs/heads/theirs", "agents may only delete branches that this conversation made"),
        ("HEAD:refs/tags/v1", "agents may not push tags"),
        ("HEAD:refs/for/main", "agents may not push anything but branches"),
    ],
)
async def test_a_push_that_is_not_allowed_is_refused_with_the_reason(
    sandbox: Sandbox, host: GitHost, refspec: str, reason: str
) -> None:
    git(host.bare(HARBOUR), "branch", "theirs", "main")
    await sandbox.clone()
    before = host.branches(HARBOUR)
    await sandbox.commit()
    done = await sandbox.push(refspec)
    assert done.status != 0
    assert f"[remote rejected] {'HEAD -> ' if 'HEAD' in refspec else ''}" in done.output
    assert f"({reason})" in done.output
    assert "remote: Slipway did not pass this push on." in done.output
    assert host.branches(HARBOUR) == before
    assert not any(asked.path.endswith("/git-receive-pack") for asked in host.requests)
    assert await sandbox.record() == [(refspec.partition(":")[2], "refused", reason)]


async def test_one_refused_ref_refuses_the_whole_push(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    await sandbox.commit()
    done = await sandbox.push("HEAD:refs/heads/mend", "HEAD:refs/heads/main")
    assert "not pushed, since another ref was refused" in done.output
    assert "refs/heads/mend" not in host.branches(HARBOUR)


async def test_any_branch_is_open_when_the_user_says_so(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.allow(scope=PushScope.ANY)
    await sandbox.clone()
    commit = await sandbox.commit()
    assert (await sandbox.push("HEAD:refs/heads/main")).status == 0
    assert host.branches(HARBOUR)["refs/heads/main"] == commit
    for refused in (":refs/heads/main", "HEAD:refs/tags/v1"):
        assert (await sandbox.push(refused)).status != 0
    assert host.branches(HARBOUR) == {"refs/heads/main": commit}


async def test_a_branch_that_is_claimed_to_be_new_is_not_taken_over(sandbox: Sandbox, host: GitHost) -> None:
    """A push that the git host has rejected does not make the branch one of this conversation. If another
    person creates a branch with this name later, the conversation cannot overwrite it.
    """
    git(host.bare(HARBOUR), "branch", "theirs", "main")
    await sandbox.clone()
    before = host.branches(HARBOUR)
    hook = host.bare(HARBOUR) / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    await sandbox.commit()
    assert "hook declined" in (await sandbox.push("HEAD:refs/heads/mend")).output
    hook.unlink()
    assert await sandbox.record() == [("refs/heads/mend", "rejected", "hook declined")]
    git(host.bare(HARBOUR), "branch", "mend", "main")
    done = await sandbox.push("--force", "HEAD:refs/heads/mend")
    assert "this branch was not made by this conversation" in done.output
    assert host.branches(HARBOUR) == {**before, "refs/heads/mend": before["refs/heads/main"]}


async def test_options_of_a_push_do_not_pass(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    await sandbox.commit()
    done = await sandbox.push("-o", "merge_request.merge_when_pipeline_succeeds", "HEAD:refs/heads/mend")
    assert "options of a push are not passed on" in done.output
    assert "refs/heads/mend" not in host.branches(HARBOUR)


async def test_a_token_that_may_only_read_is_explained(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    host.tokens[CANARY] = "read"
    await sandbox.commit()
    done = await sandbox.push("HEAD:refs/heads/mend")
    assert "does not let the user's token push to" in done.output
    assert CANARY not in done.output


async def test_a_token_that_is_revoked_between_two_requests_is_explained(
    sandbox: Sandbox, host: GitHost
) -> None:
    await sandbox.clone()
    await sandbox.commit()
    host.statuses["/team/harbour.git/git-receive-pack"] = 401
    done = await sandbox.push("HEAD:refs/heads/mend")
    assert "[remote rejected] HEAD -> mend (" in done.output
    assert "does not accept the user's token" in done.output
    assert [(ref, outcome) for ref, outcome, _ in await sandbox.record()] == [("refs/heads/mend", "rejected")]


async def test_a_large_push_that_is_refused_is_not_sent_to_the_host(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    await sandbox.commit("large.bin", os.urandom(5_000_000))
    done = await sandbox.push("HEAD:refs/heads/main")
    assert "this branch was not made by this conversation" in done.output
    assert (await sandbox.push("HEAD:refs/heads/large")).status == 0
    assert "refs/heads/large" in host.branches(HARBOUR)


async def test_a_client_that_is_killed_in_mid_push_leaves_nothing_behind(
    sandbox: Sandbox, host: GitHost
) -> None:
    await sandbox.clone()
    await sandbox.commit("large.bin", os.urandom(20_000_000))
    process = await sandbox.start_git("push", "origin", "HEAD:refs/heads/large")
    # The first request only checks whether a push is allowed.
    async with asyncio.timeout(PATIENCE_SECONDS):
        # Short pauses, because otherwise the push ends before it is killed.
        while sum(one.path.endswith("/git-receive-pack") for one in host.requests) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()
    for _ in range(len(host.requests)):
        assert await asyncio.to_thread(host.finished.acquire, timeout=60)
    assert "refs/heads/large" not in host.branches(HARBOUR)
    assert [(ref, outcome) for ref, outcome, _ in await sandbox.record()] == [("refs/heads/large", "unknown")]


async def test_the_answer_is_recorded_even_if_the_client_has_left(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    await sandbox.commit()
    begun, go_on = sandbox.directory / "begun", sandbox.directory / "go-on"
    hook = host.bare(HARBOUR) / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho hello\ntouch {begun}\nuntil [ -e {go_on} ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    process = await sandbox.start_git("push", "origin", "HEAD:refs/heads/mend")
    await until(begun.exists)
    os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()
    go_on.touch()

    async def is_recorded() -> bool:
        return await sandbox.record() == [("refs/heads/mend", "accepted", None)]

    await eventually(is_recorded)

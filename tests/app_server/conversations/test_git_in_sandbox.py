"""Tests of git in an agent's sandbox: it reaches the repository at the git host, and the sandbox never holds
the token.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.app_server.conversations.conftest import Home, eventually
from tests.support.git_host import GitHost, git
from tests.support.live_trees import files_with
from tests.support.requirements import need_program
from tests.support.scripted_llm import ScriptedLLM, call, say

CANARY = "canary-token-2b60"
LARGE = b"a large file\n" * 1000
OID = hashlib.sha256(LARGE).hexdigest()
SUBMODULES = b"""\
[submodule "lamp"]
path = lamp
url = ../lamp.git
[submodule "vault"]
path = lib/vault
url = ../../guild/vault.git
[submodule "out"]
path = ../out
url = ../lamp.git
"""
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize {len(LARGE)}\n".encode()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "host") as host:
        host.make("team/harbour")
        host.make("team/other")
        host.make("team/lamp")
        host.make("guild/vault")
        host.tokens[CANARY] = "write"
        yield host


def with_history(host: GitHost) -> str:
    """Adds a commit to main, with a large file and submodules. Makes a branch "pier" that starts at the
    commit before. Returns this common commit.
    """
    host.large_files[OID] = LARGE
    path = host.bare("team/harbour")
    begin = host.branches("team/harbour")["refs/heads/main"]
    for branch, content in (("main", b"newer\n"), ("pier", b"pier\n")):
        files = {"README.md": content, "large.bin": POINTER, ".gitmodules": SUBMODULES}
        files[".gitattributes"] = b"*.bin filter=lfs -text\n"
        lines = [f"100644 blob {host.blob(path, text)}\t{name}\n" for name, text in files.items()]
        lamp, vault = (host.branches(name)["refs/heads/main"] for name in ("team/lamp", "guild/vault"))
        lib = git(path, "mktree", stdin=f"160000 commit {vault}\tvault\n")
        lines += [f"160000 commit {lamp}\tlamp\n", f"040000 tree {lib}\tlib\n"]
        tree = git(path, "mktree", stdin="".join(lines))
        commit = git(path, "commit-tree", "-p", begin, "-m", branch, tree)
        git(path, "update-ref", f"refs/heads/{branch}", commit)
    return begin


async def test_an_agent_pushes_a_branch_without_ever_holding_the_token(
    home: Home, host: GitHost, scripted_llm: ScriptedLLM, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    settings = {
        "model": "openai/scripted",
        "base_url": scripted_llm.base_url,
        "api_key": scripted_llm.api_key,
    }
    await home.client.post("/api/v1/settings/profiles/mine", json={"llm": settings})
    token = {"host": host.origin, "token": CANARY}
    assert (await home.client.post("/api/v1/settings/git-credentials", json=token)).status_code == 201
    begin = with_history(host)
    scripted_llm.script(
        call(
            "terminal",
            command="git rev-list --count --all; git checkout -q -b mend && echo mended > mended.txt"
            " && git add -A && git commit -q -m Mend && git push origin mend && git config remote.origin.url"
            " && git config -l && env",
        ),
        call(
            "terminal",
            command="git push origin HEAD:main; git push -f origin :main; git fetch && echo fetched; "
            "git merge-base origin/main origin/pier || git fetch -q --unshallow; "
            "git merge-base origin/main origin/pier",
        ),
        call(
            "terminal",
            command=f"git clone -q --depth=1 {host.url('team/harbour')} ../again && echo cloned;"
            " git ls-remote $(git ls-remote --get-url | sed s/harbour/other/);"
            " cat lamp/README.md lib/vault/README.md; git -C lamp push origin HEAD:mend",
        ),
        say("Pushed."),
    )
    message = {"role": "user", "content": [{"type": "text", "text": "Mend and push."}]}
    task = await home.ready(
        llm_profile="mine",
        initial_message=message,
        title="Git",
        selected_repository=host.url("team/harbour"),
        confirmation_mode="never",
        clone="shallow",
    )

    async def reached(status: str) -> Any:
        return (await home.conversation(task["id"]))["execution_status"] == status

    # A push that overwrites commits needs the user's answer in every mode, also in one that asks about
    # nothing else.
    await eventually(lambda: reached("waiting_for_confirmation"))
    route = f"/api/v1/app-conversations/{task['id']}/respond-to-confirmation"
    waiting = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    asked = [event["id"] for event in waiting.json()["items"] if event["kind"] == "ActionEvent"][-1:]
    answer = await home.client.post(route, json={"accept": True, "action_ids": asked})
    assert answer.status_code == 200, answer.text
    await eventually(lambda: reached("finished"))
    page = await home.client.get(f"/api/v1/conversation/{task['id']}/events/search")
    observed = [e["observation"]["content"][0]["text"] for e in page.json()["items"] if "observation" in e]
    assert observed[0].splitlines()[0] == "2", "the newest commit of main and of pier"
    assert "mend -> mend" in observed[0]
    assert host.url("team/harbour") in observed[0].splitlines()
    assert "HEAD -> main (this branch was not made by this conversation)" in observed[1]
    assert "main (agents may only delete branches that this conversation made)" in observed[1]
    assert "remote: Slipway did not pass this push on." in observed[1]
    assert "fetched" in observed[1]
    assert begin in observed[1].splitlines(), "the branches meet once the clone is deepened"
    assert "cloned" in observed[2]
    assert "git reaches the conversation's own repository only" in observed[2]
    assert host.branches("team/harbour").keys() == {f"refs/heads/{name}" for name in ("main", "mend", "pier")}
    assert "harbour" in observed[2], "the file of the submodule"
    assert "lamp is a submodule, which agents may only read" in observed[2]
    told = next(each["detail"] for each in task["stages"] if each["status"] == "PREPARING_REPOSITORY")
    assert "Submodules: lamp. Without the submodule lib/vault: 127.0.0.1" in told
    assert "wants a token" in told, "the token is only for repositories of the same owner"
    assert told.endswith("Without the submodule ../out: its name or its path leaves the repository")
    patch = await home.client.get(f"/api/v1/app-conversations/{task['id']}/git/patch")
    assert "+mended" in patch.text

    assert CANARY not in page.text
    assert CANARY not in caplog.text
    sandbox = home.config.home / "sandboxes" / task["id"]
    assert len(files_with(sandbox, host.origin)) > 1
    assert files_with(sandbox, CANARY) == []


async def test_a_repository_of_this_machine_says_why_it_cannot_be_reached(
    home: Home, repository: Path
) -> None:
    task = await home.ready(selected_repository=str(repository))
    said = await home.shell(task["id"], "git fetch; git push origin HEAD:refs/heads/mend")
    assert said.count("This repository lies on the computer of its user") == 2


async def test_the_way_is_found_again_when_the_sandbox_comes_back(home: Home, host: GitHost) -> None:
    host.tokens.clear()
    begin = with_history(host)
    asked = {"selected_repository": host.url("team/harbour"), "clone": "blobless"}
    task = await home.ended((await home.start(**asked, selected_branch="absent"))["id"])
    assert (task["error"]["code"], task["error"]["stage"]) == ("branch_not_found", "PREPARING_REPOSITORY")
    retry = f"/api/v1/app-conversations/start-tasks/{task['id']}/retry"
    await home.client.post(retry, json={"selected_branch": None})
    task = await home.ended(task["id"])
    assert task["status"] == "READY", task["error"]
    missing = "git rev-list --objects --missing=print --all | grep -c '^?'"
    assert await home.shell(task["id"], f"{missing}; cat README.md") == "2\nnewer"
    assert await home.shell(task["id"], f"git show {begin}:README.md; {missing}") == "harbour1"
    assert await home.shell(task["id"], "cat lamp/README.md lib/vault/README.md") == "harbour" * 2
    assert await home.shell(task["id"], "git fetch && echo fetched") == "fetched"
    sandboxes = home.state["sandboxes"]
    await sandboxes.pause(UUID(task["id"]))
    await sandboxes.wake(UUID(task["id"]))
    assert await home.shell(task["id"], "git fetch && echo fetched") == "fetched"
    need_program("git-lfs")
    assert (await home.shell(task["id"], "git show HEAD:large.bin")).encode() == POINTER.strip()
    pulled = await home.shell(task["id"], "git lfs install --local && git lfs pull; sha256sum large.bin")
    assert pulled.endswith(f"{OID}  large.bin"), "the pointer has become the file"

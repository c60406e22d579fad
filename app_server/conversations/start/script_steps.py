"""The steps of a conversation's start that run the set-up scripts of its repositories and install the
repositories' Git hooks.

The steps begin with the first repository. The further repositories follow in the order in which the user
named them. The first set-up script that fails ends the start.
"""

from collections.abc import Iterable, Mapping, Sequence

from agent_runtime.wire import ExecutableKind, ProjectExecutable
from app_server.conversations.repositories.workplaces import Checkout
from app_server.conversations.start import repository_scripts as scripts
from app_server.conversations.start.commit_hook import install_commit_hook
from app_server.conversations.start.context import Start, StepOutcome
from app_server.conversations.start.executables import CheckoutExecutables, TrustDecisions
from app_server.levels.models import SettingName
from app_server.levels.service import value_for
from app_server.settings.commit_trailers import CommitTrailer, trailer_for
from app_server.settings.models import UserSettings
from app_server.teams.repositories.first_team import put_team_of_sandbox_first

_NO_SCRIPT: Mapping[ExecutableKind, str] = {
    "setup_script": "The repository has no set-up script",
    "git_hook": "The repository has no Git hook",
}


async def run_setup_script(start: Start) -> StepOutcome:
    running = await start.sandbox()
    found = _allowed(await start.executables(), "setup_script")
    names = len(found) > 1
    runs = [
        scripts.ScriptRun(checkout.directory, script, checkout.name if names else None)
        for checkout, script, _ in found
        if script is not None
    ]
    seconds = max(1, int(start.config.setup_script_timeout_seconds))
    output = await scripts.run_setup_scripts(running.client, runs, seconds, start.progress.show)
    results = [(checkout, f"Ran {script.path}" if script else why) for checkout, script, why in found]
    return _outcome(results, is_done=bool(runs), output=output)


async def set_up_git_hooks(start: Start) -> StepOutcome:
    client = (await start.sandbox()).client
    async with start.database.read() as session:
        own = await session.get(UserSettings, start.user_id)
        await put_team_of_sandbox_first(session, start.sandbox_id)
        trailer = await value_for(session, start.user_id, SettingName.COMMIT_TRAILER)
    for checkout in await start.checkouts():
        await install_commit_hook(
            client,
            checkout.directory,
            usual=CommitTrailer.NONE if trailer is None else CommitTrailer(trailer.value),
            chosen=None
            if trailer is not None and trailer.enforced
            else trailer_for(own.commit_trailers if own else None, checkout.identity),
        )
    found = _allowed(await start.executables(), "git_hook")
    for checkout, script, _ in found:
        if script is not None:
            await scripts.install_git_hook(client, checkout.directory, script)
    results = [(checkout, f"Installed {script.path}" if script else why) for checkout, script, why in found]
    return _outcome(results, is_done=any(script for _, script, _ in found))


def _allowed(
    per_checkout: Sequence[CheckoutExecutables], kind: ExecutableKind
) -> list[tuple[Checkout, ProjectExecutable | None, str]]:
    """Finds the set-up scripts or the Git hooks (`kind` says which) in the folders of the conversation, and
    decides whether each of them may run. Returns one tuple for each script that is found, and one for each
    repository without a script.

    Each tuple contains the checkout (the directory of the repository, or a folder in it), the script, and a
    sentence. If the script may run, the sentence is empty. If the script may not run, the tuple contains None
    and a sentence with the reason, for example that the user has not allowed this version of the script. If
    there is no script, the tuple contains None and a sentence that says so.
    """
    found: list[tuple[Checkout, ProjectExecutable | None, str]] = []
    for one in per_checkout:
        executable = next((each for each in one.executables if each.kind == kind), None)
        if executable is not None:
            is_allowed = one.decisions.allows(executable)
            why = "" if is_allowed else _why_not(executable, one.decisions)
            found.append((one.checkout, executable if is_allowed else None, why))
        elif not one.checkout.folder and not any(one.checkout.contains(each.directory) for each, *_ in found):
            found.append((one.checkout, None, _NO_SCRIPT[kind]))
    return found


def _outcome(
    results: Iterable[tuple[Checkout, str]], *, is_done: bool, output: str | None = None
) -> StepOutcome:
    """Returns the result of one step in the start of a conversation, for example of the step that runs the
    set-up scripts. The user sees this result. It combines the results in all checkouts (directories with a
    repository).

    `results`: pairs of a checkout and a sentence about its result. If there are several pairs, the checkout's
    name precedes each sentence. `is_done`: True gives the status `done`, False the status `skipped`.
    `output`: what the scripts have printed.
    """
    each = list(results)
    lines = [f"{checkout.name}: {text}" for checkout, text in each] if len(each) > 1 else [each[0][1]]
    return StepOutcome("done" if is_done else "skipped", "; ".join(lines), output or None)


def _why_not(executable: ProjectExecutable, decisions: TrustDecisions) -> str:
    if executable.problem is not None:
        return f"{executable.path} was not run. {executable.problem}"
    if decisions.of(executable) is not None:
        return f"{executable.path} was not run: you have refused it"
    if decisions.approved_before(executable) is not None:
        return f"{executable.path} was not run: it has changed since you allowed it"
    return f"{executable.path} was not run: you have not allowed it yet"

"""Random programs give the same output, exit code and working directory in the terminal tool as in bash."""

import subprocess
from pathlib import Path

import pytest

from agent_runtime.tools.terminal.models import TerminalAction
from agent_runtime.tools.terminal.tool import TerminalTool
from agent_runtime.tools.tool import ToolContext
from agent_runtime.workspace.environment import bash_path, command_environment
from tests.agent_runtime.tools.shell_programs import Programs

BATCHES, PROGRAMS_EACH = 8, 25


def plain_bash(program: str, directory: Path) -> tuple[str, int, str]:
    (directory.parent / "program").write_text(program)
    script = f"top={directory.parent}; trap 'pwd > $top/ended_in' EXIT; . $top/program"
    done = subprocess.run(
        [bash_path(), "--noprofile", "--norc", "-c", script],
        cwd=directory,
        env=command_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode(), done.returncode, (directory.parent / "ended_in").read_text().strip()


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_random_programs_do_what_they_do_in_bash(tmp_path: Path, batch: int):
    programs = Programs(seed=batch)
    expected_dir, seen_dir = tmp_path / "bash" / "start", tmp_path / "ours" / "start"
    for directory in (expected_dir, seen_dir):
        directory.mkdir(parents=True)
    tool = TerminalTool(ToolContext(seen_dir, tmp_path / "state"))
    try:
        for number in range(PROGRAMS_EACH):
            program = programs.program()
            for directory in (expected_dir, seen_dir):
                (directory / str(number)).mkdir()
            output, exit_code, ended_in = plain_bash(program, expected_dir / str(number))

            await tool.run(TerminalAction(command=f"cd {seen_dir / str(number)}"))
            seen = await tool.run(TerminalAction(command=program, timeout=30))

            assert seen.text == output.removesuffix("\n"), program
            assert seen.exit_code == exit_code, program
            if "The shell itself ended" not in seen.metadata.suffix:
                ended_in = ended_in.replace(str(expected_dir), str(seen_dir))
                assert seen.metadata.working_dir == ended_in, program
    finally:
        await tool.close()

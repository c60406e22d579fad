"""Tests of the tool that runs cells, with a real IPython kernel."""

import asyncio
import base64
import importlib.util
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_runtime.events.content import ImageContent
from agent_runtime.secrets.masking import MASK
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.arguments import parse_arguments
from agent_runtime.tools.jupyter.tool import JupyterTool
from agent_runtime.tools.mcp.tool import MCPToolObservation
from agent_runtime.tools.registry import ToolNotFoundError, ToolSpec, create_tools
from agent_runtime.tools.tool import ToolContext
from agent_runtime.tools.truncate import MAX_OUTPUT_CHARS

PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\x9cc\xf8\xff"
    b"\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82"
)
SHOW_PIXEL = f"from IPython.display import Image, display\ndisplay(Image({PIXEL!r}, format='png'))"
SECRET = "opensesame-42"


@pytest.fixture
async def tool(tmp_path: Path) -> AsyncIterator[JupyterTool]:
    secrets = Secrets()
    secrets.update({"CAVE_KEY": SECRET})
    (tmp_path / "project").mkdir()
    tool = JupyterTool(ToolContext(tmp_path / "project", tmp_path / "state", secrets))
    yield tool
    await tool.close()


async def run(tool: JupyterTool, code: str, **arguments: object) -> MCPToolObservation:
    return await tool.run(parse_arguments(tool, {"code": code, **arguments}))


async def pid_of(tool: JupyterTool) -> int:
    return int((await run(tool, "import os; print(os.getpid())")).text)


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def is_gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while is_alive(pid):  # noqa: ASYNC110 (processes send no events)
            await asyncio.sleep(0.02)


async def test_variables_stay_and_the_last_value_is_shown(tool: JupyterTool, tmp_path: Path):
    first = await run(tool, "import os\nx = 20\nprint('set')")
    second = await run(tool, "print(os.getcwd())\nx + 1")

    assert first.text == "set"
    assert second.text == f"{tmp_path / 'project'}\n21"
    assert not second.is_error


async def test_commands_work_and_what_is_shown_comes_in_order(tool: JupyterTool):
    seen = await run(
        tool, f"print('before')\n{SHOW_PIXEL}\n!echo after\nimport sys; print('last', file=sys.stderr)"
    )

    assert seen.text.split("\n") == ["before", "[picture 1]", "after", "last"]
    [picture] = [part for part in seen.content if isinstance(part, ImageContent)]
    assert base64.b64decode(picture.image_urls[0].removeprefix("data:image/png;base64,")) == PIXEL


async def test_pages_become_text_and_too_many_pictures_are_left_out(tool: JupyterTool):
    page = "from IPython.display import HTML, display\n"
    page += "class Page:\n  def _repr_html_(self): return '<table><tr><td>a</td><td>b</td></tr></table>'\n"
    page += "display(Page())"

    assert (await run(tool, page)).text == "a b"
    many = await run(tool, f"{SHOW_PIXEL}\nfor _ in range(10): display(Image({PIXEL!r}, format='png'))")
    assert len([part for part in many.content if isinstance(part, ImageContent)]) == 8
    assert "[one more picture; a cell shows at most 8]" in many.text


async def test_a_progress_display_that_replaces_itself_is_seen_once(tool: JupyterTool):
    code = "from IPython.display import clear_output\n"
    code += "for n in range(5):\n  clear_output(wait=True)\n  print('at', n)"

    assert (await run(tool, code)).text == "at 4"


async def test_an_error_has_a_plain_traceback_and_the_kernel_goes_on(tool: JupyterTool):
    failed = await run(tool, "y = 5\n1 / 0")

    assert failed.is_error
    assert "ZeroDivisionError: division by zero" in failed.text
    assert "1 / 0" in failed.text
    assert "\x1b" not in failed.text
    assert (await run(tool, "y")).text == "5"
    assert "input" in (await run(tool, "input('?')")).text


async def test_long_output_is_cut_and_saved_whole(tool: JupyterTool, tmp_path: Path):
    long = await run(tool, "for n in range(20_000): print('line', n)")

    assert len(long.text) < MAX_OUTPUT_CHARS + 500
    assert "line 0\n" in long.text
    assert "line 19999" in long.text
    [saved] = (tmp_path / "state" / "observations").iterdir()
    assert str(saved) in long.text
    assert len(saved.read_text().splitlines()) == 20_000


async def test_a_secret_is_there_for_the_cell_that_names_it_and_never_shown(
    tool: JupyterTool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SERVERS_OWN_KEY", "must not get there")

    await run(tool, "import os")
    named = await run(tool, "print(os.environ['CAVE_KEY'], len(os.environ['CAVE_KEY']))")
    not_named = await run(tool, "[name for name in os.environ if name.startswith(('CAVE', 'SERVERS'))]")

    assert named.text == f"{MASK} {len(SECRET)}"
    assert not_named.text == "[]"


async def test_what_takes_too_long_is_interrupted_and_variables_stay(tool: JupyterTool):
    await run(tool, "z = 7\nimport time")
    late = await run(tool, "print('begun', flush=True)\ntime.sleep(600)", timeout=1)

    assert late.is_error
    assert late.text.startswith("begun\n")
    assert "KeyboardInterrupt" in late.text
    assert "was not done after 1 seconds" in late.text
    assert (await run(tool, "z")).text == "7"


async def test_a_cell_that_does_not_let_itself_be_interrupted_loses_its_kernel(tool: JupyterTool):
    pid = await pid_of(tool)
    stubborn = "import time\nwhile True:\n  try: time.sleep(600)\n  except KeyboardInterrupt: pass"
    late = await run(tool, stubborn, timeout=1)

    assert late.is_error
    assert "its kernel was killed" in late.text
    await is_gone(pid)
    assert (await run(tool, "'stubborn' in dir()")).text == "False"


async def test_a_call_that_is_cancelled_stops_its_cell_and_what_it_runs(tool: JupyterTool, tmp_path: Path):
    await run(tool, "z = 7")
    begun = tmp_path / "project" / "begun"
    call = asyncio.create_task(run(tool, "!echo $$ > begun; sleep 600; echo $$ > begun"))
    async with asyncio.timeout(60):
        while not (begun.exists() and begun.read_text().strip()):  # noqa: ASYNC110 (files send no events)
            await asyncio.sleep(0.02)
    sleeper = int(begun.read_text())

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await is_gone(sleeper)
    assert (await run(tool, "z")).text == "7"


async def test_a_kernel_that_dies_says_so_and_the_next_cell_gets_another(tool: JupyterTool):
    first = await pid_of(tool)
    died = await run(tool, "print('going', flush=True)\nos.kill(os.getpid(), 9)")
    left = await run(tool, "import os\nos._exit(3)")

    assert died.is_error
    assert "killed by SIGKILL" in died.text
    assert "variables, imports and functions are gone" in died.text
    assert "exit code 3" in left.text
    assert await pid_of(tool) != first


async def test_a_kernel_that_died_between_cells_is_replaced(tool: JupyterTool):
    pid = await pid_of(tool)
    os.kill(pid, 9)
    await is_gone(pid)

    assert (await run(tool, "1 + 1")).text == "2"


async def test_a_restart_forgets_and_closing_ends_all_it_started(tool: JupyterTool):
    await run(tool, "x = 1")
    assert "was ended" in (await run(tool, "", restart=True)).text
    assert "NameError" in (await run(tool, "x")).text
    pid = await pid_of(tool)
    child = int((await run(tool, "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)")).text)

    await tool.close()

    await is_gone(pid)
    await is_gone(child)


async def test_what_tools_there_are_says_why_it_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ipykernel" else found(name)
    )

    with pytest.raises(
        ToolNotFoundError, match=r"ipykernel cannot be imported.*pip install 'slipway\[jupyter\]'"
    ):
        create_tools([ToolSpec(name="execute_ipython_cell")], ToolContext(tmp_path, tmp_path))

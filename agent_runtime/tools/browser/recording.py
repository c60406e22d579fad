"""Records the browser's page as numbered pictures. Also writes an HTML page that shows the pictures one after
another, like a film.
"""

import asyncio
import base64
from pathlib import Path

from agent_runtime.tools.browser.browser import Browser
from agent_runtime.tools.browser.connection import Json
from agent_runtime.tools.browser.tab import PageError, Tab

DIRECTORY = Path(".agents_tmp", "browser_recordings")
MAX_PICTURES = 1_200
MAX_BYTES = 100 * 1024**2
_SCREENCAST = {"format": "jpeg", "quality": 50, "maxWidth": 1280, "maxHeight": 800}
_PLAYER = """\
<!doctype html>
<meta charset="utf-8">
<title>Browser recording</title>
<style>body{{margin:1rem;font:14px sans-serif;background:#18181b;color:#e4e4e7}}img{{max-width:100%}}</style>
<p>
  <button id="play">Play</button>
  <input id="at" type="range" min="1" max="{count}" value="1">
  <output id="n"></output>
</p>
<img id="picture" alt="The page at this moment">
<script>
  const at = document.getElementById('at')
  const show = () => {{
    document.getElementById('picture').src = `${{at.value.padStart(4, '0')}}.jpg`
    document.getElementById('n').textContent = `${{at.value}} / {count}`
  }}
  let timer = 0
  at.oninput = show
  document.getElementById('play').onclick = () => {{
    clearInterval(timer)
    if (at.value === at.max) at.value = 1
    timer = setInterval(() => {{
      if (at.value === at.max) clearInterval(timer)
      else at.stepUp()
      show()
    }}, 500)
  }}
  show()
</script>
"""


class Recording:
    """A running recording of the browser's page. `start` begins the recording, and `stop` ends it.

    A recording takes pictures of one tab at a time. A tool call may change the current tab. So `follow` must
    be called with the current tab after each tool call; it makes the recording continue in this tab.
    """

    def __init__(self, browser: Browser, directory: Path) -> None:
        self._browser = browser
        self.directory = directory
        self._tab: Tab | None = None
        self._writing: asyncio.Task[None] | None = None
        self._pictures: asyncio.Queue[bytes] = asyncio.Queue(maxsize=10)
        self._count = 0
        self._bytes = 0

    async def start(self) -> None:
        """Starts to record the browser's current tab. Raises PageError if no page is open."""
        tab = self._browser.current
        await asyncio.to_thread(self.directory.mkdir, parents=True)
        self._writing = asyncio.create_task(self._write())
        self._browser.on_picture = self._take
        await self.follow(tab)

    async def follow(self, tab: Tab) -> None:
        if tab is self._tab:
            return
        previous, self._tab = self._tab, tab
        if previous is not None and not previous.has_crashed:
            await previous.call("Page.stopScreencast")
        await tab.call("Page.startScreencast", _SCREENCAST)

    async def stop(self) -> int:
        """Ends the recording and returns the number of recorded pictures."""
        self._browser.on_picture = None
        if self._tab is not None and not self._tab.has_crashed:
            await self._tab.call("Page.stopScreencast")
        await self._pictures.join()
        self.drop()
        player = self.directory / "index.html"
        await asyncio.to_thread(player.write_text, _PLAYER.format(count=self._count))
        return self._count

    def drop(self) -> None:
        """Stops saving pictures at once. The pictures that are already saved stay.

        Unlike `stop`, this method sends no command to the browser and writes no HTML page. So it can be
        called when the browser has already ended.
        """
        if self._writing is not None:
            self._writing.cancel()

    def _take(self, picture: Json) -> None:
        if self._count + self._pictures.qsize() >= MAX_PICTURES or self._bytes >= MAX_BYTES:
            return
        if not self._pictures.full():
            self._pictures.put_nowait(base64.b64decode(picture["data"]))

    async def _write(self) -> None:
        while True:
            picture = await self._pictures.get()
            try:
                self._count += 1
                self._bytes += len(picture)
                await asyncio.to_thread((self.directory / f"{self._count:04}.jpg").write_bytes, picture)
            finally:
                self._pictures.task_done()


async def start_recording(browser: Browser, working_dir: Path) -> Recording:
    """Starts a recording of the browser's page and returns it. The pictures are saved in a new numbered
    directory below `working_dir`. Raises PageError if no page is open or the directory cannot be created.
    """
    parent = working_dir / DIRECTORY
    number = await asyncio.to_thread(_free_number, parent)
    recording = Recording(browser, parent / f"{number:03}")
    try:
        await recording.start()
    except OSError as error:
        raise PageError(f"Nothing can be written to {recording.directory}: {error.strerror}.") from error
    return recording


def _free_number(parent: Path) -> int:
    taken = [int(path.name) for path in parent.glob("[0-9][0-9][0-9]")]
    return max(taken, default=0) + 1

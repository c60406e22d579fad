"""Saves the downloads of web pages in the workspace, up to a maximum file size."""

from collections.abc import Callable
from pathlib import Path

from agent_runtime.tools.browser.connection import Json

DIRECTORY = "downloads"
MAX_DOWNLOAD_BYTES = 500 * 1024**2
_MAX_NAME_CHARS = 200


class Downloads:
    """Follows the downloads of a browser: tells the model when a download starts and ends, and cancels a
    download that is too large.

    `directory`: where the browser saves the files. `say`: a function that gets each message for the model.
    `cancel`: a function that cancels the download with the given id.
    """

    def __init__(self, directory: Path, say: Callable[[str], None], cancel: Callable[[str], None]) -> None:
        self.directory = directory
        self._say = say
        self._cancel = cancel
        self._names: dict[str, str] = {}

    def begin(self, params: Json) -> None:
        name = str(params.get("suggestedFilename", ""))[:_MAX_NAME_CHARS]
        self._names[params["guid"]] = name
        self._say(f"The page started a download: {name!r}, into {self.directory}.")

    def follow(self, params: Json) -> None:
        guid, state = params["guid"], params["state"]
        if state == "inProgress":
            if params.get("receivedBytes", 0) > MAX_DOWNLOAD_BYTES and guid in self._names:
                self._end(guid, f"was ended: it is larger than {MAX_DOWNLOAD_BYTES:,} bytes")
                self._cancel(guid)
        elif state == "completed":
            self._end(guid, f"is complete: {params.get('filePath') or self.directory}")
        else:
            self._end(guid, "was cancelled")

    def _end(self, guid: str, how: str) -> None:
        name = self._names.pop(guid, None)
        if name is not None:
            self._say(f"The download {name!r} {how}.")

"""Serves the built front end. If a path belongs to a page that only the front end knows, the server returns
index.html.
"""

import mimetypes
import os
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, HTMLResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

DIST = Path(__file__).parents[2] / "frontend" / "dist"

_API = ("/api/", "/mcp/", "/oauth/")
_ASSETS = "/assets/"

# The compressed files that the build puts beside each file, the smallest first.
_ENCODINGS = {"br": ".br", "gzip": ".gz"}

_NOT_BUILT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Slipway</title></head>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem">
<h1>The server runs; its pages are not built yet</h1>
<p>Run <code>make frontend</code> in the directory of the project, then reload this page.</p>
<p>The API answers already: see <a href="/openapi.json">/openapi.json</a>.</p>
</body>
</html>
"""


def install_frontend(app: FastAPI, dist: Path = DIST) -> None:
    """Makes `app` serve the front end for all paths for which `app` has no route. `dist`: the directory with
    the built front end.
    """
    # Not a mount: one at "/" would also answer wrong methods on known routes (405) with a 404.
    app.router.default = Frontend(directory=dist, check_dir=False)


class Frontend(StaticFiles):
    """An ASGI app that serves the files of the built front end. Unknown paths get index.html, except unknown
    API paths and assets, which get a 404.
    """

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Returns the response with the file. If the build of the front end has made a compressed copy of the
        file, and the client accepts the encoding of this copy, the response contains the copy.
        """
        request_headers = Headers(scope=scope)
        encoding, path = _as_accepted(Path(full_path), request_headers.get("accept-encoding", ""))
        response = FileResponse(
            path,
            status_code=status_code,
            stat_result=stat_result if encoding is None else path.stat(),
            media_type=mimetypes.guess_type(full_path)[0],
        )
        if encoding is not None:
            response.headers["Content-Encoding"] = encoding
        response.headers["Vary"] = "Accept-Encoding"
        if self.is_not_modified(response.headers, request_headers):
            return NotModifiedResponse(response.headers)
        return response

    async def check_config(self) -> None:
        """Does nothing. It overrides the method of Starlette that stops the server if the directory of the
        front end is missing. If this directory is missing, Slipway shows a page that explains the problem.
        """

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["path"].startswith(_API):
            raise HTTPException(404)
        index = Path(str(self.directory)) / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT, status_code=503)
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or scope["path"].startswith(_ASSETS):
                raise
            return self.file_response(index, index.stat(), scope)


def _as_accepted(path: Path, accepted: str) -> tuple[str | None, Path]:
    """Chooses the best content encoding that the client accepts. Returns the encoding and the file that has
    this encoding. The encoding is None for the uncompressed file. `path`: the uncompressed file. `accepted`:
    the request's header Accept-Encoding.
    """
    names = {name for name, weight in map(_parts, accepted.lower().split(",")) if not _is_zero(weight)}
    for encoding, suffix in _ENCODINGS.items():
        compressed = path.with_name(path.name + suffix)
        if encoding in names and compressed.is_file():
            return encoding, compressed
    return None, path


def _parts(word: str) -> tuple[str, str]:
    name, _, parameter = word.partition(";")
    return name.strip(), parameter.replace(" ", "")


def _is_zero(weight: str) -> bool:
    """Returns whether the weight of an encoding in the header Accept-Encoding is zero (`q=0`), which means
    that the client refuses the encoding.
    """
    return weight.startswith("q=0") and not weight.removeprefix("q=").strip("0.")

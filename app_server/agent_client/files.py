"""The client for files of a sandbox. The sandbox's agent server reads and writes the files."""

from pathlib import Path
from typing import Any

import httpx

from agent_runtime.wire import DirectoryPage, HooksResponse
from app_server.agent_client.calls import AgentCalls, parse, to_params
from app_server.core.errors import NotFound, PayloadTooLarge

UPLOAD_TIMEOUT_SECONDS = 600.0
MAX_FILE_BYTES = 5 * 1024**2


class AgentFiles(AgentCalls):
    """The client that reads and writes files of a sandbox. Paths are absolute paths within the sandbox.

    `within`, where a method has it: a directory. A path that leads out of it, also by a symbolic link, is
    refused with Forbidden. None means the directories that the agent server allows, such as the workspace.
    """

    async def upload_file(self, source: Path, path: str) -> None:
        """Copies the file `source`, which is on the app server's machine, to `path` in the sandbox. Sends the
        content in pieces, not as a whole.
        """
        with source.open("rb") as file:
            await self._call(
                "POST",
                "/api/file/upload",
                params={"path": path},
                files={"file": (source.name, file)},
                timeout_seconds=UPLOAD_TIMEOUT_SECONDS,
            )

    async def read_file(self, path: str, within: str | None = None) -> bytes | None:
        """Returns the content of the file at `path` in the sandbox's workspace. Returns None if the file does
        not exist.

        Raises PayloadTooLarge if the file is larger than MAX_FILE_BYTES. Raises Forbidden if the path is
        outside of the workspace.
        """
        content = bytearray()
        try:
            async with self._stream("/api/file/download", to_params(path=path, within=within)) as reply:
                async for piece in reply.aiter_bytes():
                    content += piece
                    if len(content) > MAX_FILE_BYTES:
                        raise PayloadTooLarge(
                            f"The file is larger than {MAX_FILE_BYTES // 1024**2} MB.", code="file_too_large"
                        )
        except NotFound:
            return None
        return bytes(content)

    async def open_file(self, path: str, within: str | None = None) -> httpx.Response:
        """Returns the agent server's reply with the content of the file at `path`, before the content has
        been read. The caller must close the reply.

        Raises NotFound if the file does not exist. Raises Forbidden if the path is outside of the workspace.
        """
        return await self._open("/api/file/download", to_params(path=path, within=within))

    async def list_directory(
        self, path: str, page_id: str | None = None, within: str | None = None
    ) -> DirectoryPage:
        """Returns one page of the contents of the directory at `path`. `page_id`: the `next_page_id` of the
        page before.

        Raises NotFound if the directory does not exist. Raises Forbidden if the path is outside of the
        workspace.
        """
        params = to_params(path=path, page_id=page_id, within=within)
        return parse(DirectoryPage, await self._call("GET", "/api/file/entries", params=params))

    async def project_hooks(self, directory: str) -> dict[str, Any] | None:
        """Returns the hooks that the project in this directory defines. A hook is a command, or a question to
        a model, that runs at a certain event.

        The keys of the returned dict are the names of the events. Returns None if the project defines no
        hooks.
        """
        reply = await self._call("POST", "/api/hooks", json={"project_dir": directory})
        return parse(HooksResponse, reply).hook_config

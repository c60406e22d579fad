"""The client with which the app server calls one sandbox host (another machine that runs sandboxes for this
app server). The client also records since when the sandbox host has not answered.
"""

import asyncio
import ssl
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args
from uuid import UUID

import httpx
from pydantic import TypeAdapter, ValidationError

from app_server.core.database import now
from app_server.core.errors import StartCode, StartFailure
from app_server.core.sandbox_hosts import SandboxHost
from app_server.core.start_report import Report
from app_server.sandbox_backends.backend import LastWords, MachineState
from app_server.sandbox_backends.remote.base_image_request import parts_of
from app_server.sandbox_backends.remote.wire import (
    INSTALLATION_HEADER,
    PIECE_BYTES,
    PREFIX,
    PROTOCOL,
    TAR,
    TOKEN_HEADER,
    BaseInfo,
    HostedImage,
    HostedMachine,
    HostedSandbox,
    HostFailure,
    HostInfo,
    LastWordsInfo,
    Step,
    WorkspaceSize,
)
from app_server.sandbox_backends.workspace_tar import TarSink, TarSource
from app_server.sandbox_images.base_image import BaseImage
from app_server.sandbox_images.image_store import StoredImage

CALL_SECONDS = 30.0
GREETING_SECONDS = 5.0
# For calls that build an image or move a workspace.
LONG_SECONDS = 1800.0

_STATES = TypeAdapter(list[HostedSandbox])
_IMAGES = TypeAdapter(list[HostedImage])


class Host:
    """The client of one sandbox host (another machine that runs sandboxes for this app server). The HTTP
    client `http` sends the host's token with each call.

    `info`: the last description that the host has sent about itself; None if it has not answered yet.
    `is_ready`: an event that is set while the host's sandboxes can reach the app server.
    """

    def __init__(
        self,
        host_config: SandboxHost,
        token: str,
        installation: str,
        trust: ssl.SSLContext,
        patience_seconds: float,
    ) -> None:
        self.name = host_config.name
        self.url = host_config.url.rstrip("/")
        self.headers: Mapping[str, str] = {TOKEN_HEADER: token, INSTALLATION_HEADER: installation}
        self.info: HostInfo | None = None
        self.is_ready = asyncio.Event()
        self.silent_since: datetime | None = None
        self._silent_from: float | None = None
        self._patience_seconds = patience_seconds
        self._trust = trust
        self.http = httpx.AsyncClient(
            base_url=f"{self.url}{PREFIX}",
            headers=dict(self.headers),
            verify=trust,
            trust_env=False,
            timeout=CALL_SECONDS,
            limits=httpx.Limits(max_connections=None),
        )

    async def close(self) -> None:
        await self.http.aclose()

    @property
    def is_lost(self) -> bool:
        """Returns whether the sandbox host has not answered for longer than the time in the setting
        `sandbox_host_patience_seconds`.
        """
        silent = self._silent_from is not None and time.monotonic() - self._silent_from
        return silent is not False and silent > self._patience_seconds

    def agent_url(self, sandbox_id: UUID) -> str:
        return f"{self.url}{PREFIX}/sandboxes/{sandbox_id}/agent"

    async def greet(self) -> HostInfo:
        """Asks the host for its version, memory and image. Stores the reply in `info` and returns it. Raises
        StartFailure if the host does not answer, refuses the request or has another protocol version.
        """
        reply = await self._call("GET", "/info", timeout=GREETING_SECONDS)
        info: HostInfo = self._parse(TypeAdapter(HostInfo), reply.content)
        if info.protocol != PROTOCOL:
            raise StartFailure(
                "sandbox_host_refused",
                f"The sandbox host {self.name} runs version {info.version}, which speaks another protocol.",
                fix="Run the version of the app server there, too.",
            )
        self.info = info
        return info

    async def states(self) -> dict[UUID, MachineState]:
        """Returns the states of the containers of all sandboxes that are on the host, by the sandbox's id.
        The state is `stopped` if only the sandbox's workspace is left. Raises StartFailure if the host does
        not answer or refuses the request.
        """
        reply = await self._call("GET", "/sandboxes", timeout=GREETING_SECONDS)
        return {each.id: each.state for each in self._parse(_STATES, reply.content)}

    async def prepare(self, report: Report) -> None:
        await self._follow("POST", "/image", report)

    async def prepare_base(self, base: BaseImage, report: Report) -> None:
        """Makes the host build the sandbox image on a base image that a user has chosen. Does nothing if the
        host has this sandbox image already. Raises StartFailure if the build fails, if the host cannot be
        reached, or if the host refuses the request.
        """
        reply = await self._ask("GET", "/bases", params={"name": base.name})
        if reply.status_code == httpx.codes.NOT_FOUND:
            version = self.info.version if self.info else "of another version"
            raise StartFailure(
                "sandbox_host_refused",
                f"The sandbox host {self.name} runs Slipway {version}, "
                "which builds no images that users have chosen.",
                fix="Run the version of the app server there, too; or start without an image of your own.",
            )
        self._require_success(reply, reply.content)
        known: BaseInfo = self._parse(TypeAdapter(BaseInfo), reply.content)
        if known.image is None:
            sent = parts_of(base, await base.files())
            await self._follow("PUT", "/bases", report, files=sent)

    async def images(self, bases: Collection[str], *, prune: bool) -> list[StoredImage]:
        """Lists or removes sandbox images on the host. If `prune` is False, returns all images. If `prune` is
        True, removes the unused images and returns the removed images.

        bases: the names of the base images that users have chosen; images that are built on them are kept.
        """
        method, route = ("POST", "/images/prune") if prune else ("GET", "/images")
        reply = await self._call(method, route, params={"base": sorted(bases)}, timeout=LONG_SECONDS)
        found: list[HostedImage] = self._parse(_IMAGES, reply.content)
        return [StoredImage(**each.model_dump()) for each in found]

    async def start(
        self,
        sandbox_id: UUID,
        session_key: str,
        report: Report,
        authority: str | None = None,
        base: str | None = None,
    ) -> HostedMachine:
        body = {"session_key": session_key, "authority": authority, "base": base}
        last = await self._follow("PUT", f"/sandboxes/{sandbox_id}", report, json=body)
        if last.machine is None:
            raise self._nonsense()
        return last.machine

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        reply = await self._call("GET", f"/sandboxes/{sandbox_id}/last-words")
        words = self._parse(TypeAdapter(LastWordsInfo), reply.content)
        return LastWords(words.cause, words.output, _known(words.code), words.fix)

    async def size(self, sandbox_id: UUID) -> int | None:
        reply = await self._call("GET", f"/sandboxes/{sandbox_id}/size")
        found: WorkspaceSize = self._parse(TypeAdapter(WorkspaceSize), reply.content)
        return found.bytes

    async def freeze(self, sandbox_id: UUID) -> None:
        await self._call("POST", f"/sandboxes/{sandbox_id}/freeze")

    async def stop(self, sandbox_id: UUID) -> None:
        await self._call("POST", f"/sandboxes/{sandbox_id}/stop")

    async def delete(self, sandbox_id: UUID) -> None:
        await self._call("DELETE", f"/sandboxes/{sandbox_id}")

    def export(self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None) -> None:
        """Writes the given parts of a sandbox's workspace, which is on this remote host, to `sink` as a tar.
        Blocks the thread, so call it in a separate thread.

        `parts`: names of directories in the workspace. `folder`: a directory in each part; if given, only its
        content is written, and the paths in the tar do not contain its name. For the folder `src`,
        `project/src/a.py` becomes `project/a.py`. Raises StartFailure if the host refuses the request or
        cannot be reached. Errors of `sink` are not caught.
        """
        path = f"{PREFIX}/sandboxes/{sandbox_id}/workspace"
        asked: dict[str, str | list[str]] = {"part": list(parts), **({"folder": folder} if folder else {})}
        try:
            with (
                self._blocking() as http,
                http.stream("GET", path, params=asked) as reply,
            ):
                self._require_success(reply, reply.read() if reply.is_error else b"")
                for piece in reply.iter_raw(PIECE_BYTES):
                    sink.write(piece)
        except httpx.HTTPError as error:
            raise self.lost(error) from error

    def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        """Replaces the sandbox's workspace on this host by the content of the tar `source`. Before that, the
        host deletes the sandbox's container and old workspace. Blocks the thread, so call it in a separate
        thread. Raises StartFailure if the host cannot be reached or refuses the request.
        """

        def pieces() -> Iterator[bytes]:
            while piece := source.read(PIECE_BYTES):
                yield piece

        try:
            with self._blocking() as http:
                reply = http.put(
                    f"{PREFIX}/sandboxes/{sandbox_id}/workspace",
                    content=pieces(),
                    headers={"Content-Type": TAR},
                )
                self._require_success(reply, reply.content)
        except httpx.HTTPError as error:
            raise self.lost(error) from error

    def lost(self, error: Exception | None = None) -> StartFailure:
        since = f" since {self.silent_since:%Y-%m-%d %H:%M:%S} UTC" if self.silent_since else ""
        reason = f": {str(error) or type(error).__name__}" if error else "."
        return StartFailure(
            "sandbox_host_lost",
            f"The sandbox host {self.name} has not answered{since}{reason}",
            fix="Start the host again: its sandboxes then continue. Or resume the conversation: it continues "
            "on another host from its last backup, if it has one (SLIPWAY_SANDBOX_BACKUP_MINUTES).",
        )

    def _blocking(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url,
            headers=dict(self.headers),
            verify=self._trust,
            trust_env=False,
            timeout=httpx.Timeout(CALL_SECONDS, read=LONG_SECONDS, write=LONG_SECONDS),
        )

    async def _call(self, method: str, route: str, **request: Any) -> httpx.Response:
        reply = await self._ask(method, route, **request)
        self._require_success(reply, reply.content)
        return reply

    async def _ask(self, method: str, route: str, **request: Any) -> httpx.Response:
        """Sends a request to the host and returns the reply, even if the reply has an error status.
        `request`: further arguments of the HTTP client, such as `json`. Raises StartFailure if the host does
        not reply.
        """
        try:
            reply = await self.http.request(method, route, **request)
        except httpx.HTTPError as error:
            self._note_silence()
            raise self.lost(error) from error
        self._note_answer()
        return reply

    async def _follow(self, method: str, route: str, report: Report, **request: Any) -> Step:
        """Sends a request to the sandbox host, which streams its reply as JSON lines. Passes each progress
        sentence to `report`, and returns the parsed last line, which contains the result. `request`: further
        arguments of the HTTP client, such as `json`.

        Raises StartFailure if the host reports a failure, refuses the request or stops answering.
        """
        timeout = httpx.Timeout(CALL_SECONDS, read=LONG_SECONDS)
        try:
            async with self.http.stream(method, route, timeout=timeout, **request) as reply:
                self._note_answer()
                self._require_success(reply, await reply.aread() if reply.is_error else b"")
                async for line in reply.aiter_lines():
                    step: Step = self._parse(TypeAdapter(Step), line)
                    if step.report is not None:
                        report(step.report)
                    elif step.failure is not None:
                        raise _as_failure(step.failure)
                    elif step.is_last:
                        return step
        except httpx.HTTPError as error:
            self._note_silence()
            raise self.lost(error) from error
        raise self.lost()

    def _note_answer(self) -> None:
        self.silent_since = self._silent_from = None

    def _note_silence(self) -> None:
        if self._silent_from is None:
            self.silent_since, self._silent_from = now(), time.monotonic()

    def _require_success(self, reply: httpx.Response, body: bytes) -> None:
        """Raises StartFailure if the reply has an error status. The failure contains the reason that the host
        has sent, or says that the reply does not come from a sandbox host.
        """
        if reply.is_success:
            return
        try:
            problem = httpx.Response(reply.status_code, content=body).json()
            code, cause = str(problem["code"]), str(problem["detail"])
        except (ValueError, KeyError, TypeError):
            raise self._nonsense(f" (HTTP {reply.status_code})") from None
        fix = str(problem.get("fix") or "See the log of the sandbox host.")
        if code not in get_args(StartCode):
            raise StartFailure("sandbox_host_refused", f"The sandbox host {self.name}: {cause}", fix=fix)
        raise _as_failure(
            HostFailure(code=code, cause=cause, fix=fix, output=str(problem.get("output") or ""))
        )

    def _parse(self, shape: TypeAdapter[Any], content: bytes | str) -> Any:
        try:
            return shape.validate_json(content)
        except ValidationError as error:
            raise self._nonsense() from error

    def _nonsense(self, more: str = "") -> StartFailure:
        return StartFailure(
            "sandbox_host_refused",
            f"What answers at {self.url} does not answer like a sandbox host{more}.",
            fix=f"See that `slipway sandbox-host` of this version answers there, for the host {self.name}.",
        )


def _known(code: str) -> StartCode:
    return code if code in get_args(StartCode) else "sandbox_start_failed"  # type: ignore[return-value]


def _as_failure(failure: HostFailure) -> StartFailure:
    return StartFailure(_known(failure.code), failure.cause, fix=failure.fix, output=failure.output)


def unlisted(name: str) -> StartFailure:
    """Returns the error for a sandbox whose host is not in the setting SLIPWAY_SANDBOX_HOSTS any more."""
    return StartFailure(
        "sandbox_host_unknown",
        f"The workspace is on the sandbox host {name}, which is not in SLIPWAY_SANDBOX_HOSTS any more.",
        fix="Name the host there again: its sandboxes then continue. Or resume the conversation: it "
        "continues on another host from its last backup, if it has one (SLIPWAY_SANDBOX_BACKUP_MINUTES).",
    )

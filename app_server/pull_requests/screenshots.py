"""Selects screenshots that the agent took after its last edit of a file, for the description of a pull
request.

Git hosts cannot read the images of a conversation. If the API of a host accepts images, the screenshots that
the user has chosen are uploaded. For the other hosts, the description links to the events of the conversation
that contain the screenshots.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import AppError, BadRequest
from app_server.events import blobs
from app_server.git_hosts.protocol import GitHostClient, image_host
from app_server.git_hosts.schemas import HostImage, OpenedPullRequest, PullRequestChanges
from app_server.pull_requests.evidence import after_last_edit

MAX_SCREENSHOTS = 6
_MAX_TITLE_CHARACTERS = 100
_DATA_URL = re.compile(r"data:image/(jpeg|png|webp);base64,[A-Za-z0-9+/]+={0,2}\Z")
_NOT_IN_MARKDOWN = re.compile(r"[\[\]()<>`\\!*_|\s]+")


@dataclass(frozen=True)
class Screenshot:
    """A screenshot in an event of a conversation.

    `title`: the title of the web page, or its address. `data_url`: the image itself as a `data:` URL.
    """

    event_id: str
    title: str
    data_url: str = field(repr=False)

    def image(self, number: int) -> HostImage:
        """Returns the screenshot as a file to upload, with the name `screenshot-<number>` and the file
        extension of its image format.
        """
        head, _, content = self.data_url.partition(",")
        kind = head.removeprefix("data:image/").removesuffix(";base64")
        name = f"screenshot-{number}.{kind.replace('jpeg', 'jpg')}"
        return HostImage(name, f"image/{kind}", base64.b64decode(content))


def screenshots_of(events: Sequence[dict[str, Any]]) -> list[Screenshot]:
    """Returns the newest MAX_SCREENSHOTS screenshots that were taken after the agent's last edit of a file,
    the oldest first. events: the newest events of the conversation, as the sandbox reported them.
    """
    found = [shot for event in after_last_edit(events) if (shot := _screenshot(event))]
    return found[-MAX_SCREENSHOTS:]


def chosen_of(events: Sequence[dict[str, Any]], event_ids: Sequence[str]) -> list[Screenshot]:
    """Returns the screenshots in the events with these ids, in the order of the ids. Raises BadRequest
    `screenshot_not_found` if `events` contains no screenshot for one of the ids.
    """
    known = {shot.event_id: shot for event in events if (shot := _screenshot(event))}
    if missing := [one for one in event_ids if one not in known]:
        raise BadRequest(
            f"The end of the conversation has no screenshot in the event {missing[0]}.",
            code="screenshot_not_found",
            fix="Make the draft again, and choose from its screenshots.",
        )
    return [known[one] for one in dict.fromkeys(event_ids)]


async def address_of(session: AsyncSession, conversation_id: UUID, shot: Screenshot) -> str:
    """Returns an address from which a browser can load the screenshot. If the image is stored separately from
    its event, returns the image's path on this server. Otherwise returns the image as a `data:` URL.
    """
    sha256 = hashlib.sha256(shot.data_url.encode()).hexdigest()
    stored = await blobs.find(session, conversation_id, sha256)
    return blobs.address_of(conversation_id, sha256) if stored else shot.data_url


@dataclass(frozen=True)
class ChosenScreenshots:
    """The screenshots that a user has chosen for the description of a pull request. `link`: the address of
    the conversation's page.

    Call `in_new` before the pull request is opened, and `in_opened` after that. `in_new` adds links, for git
    hosts that accept no images. `in_opened` uploads images, for all other git hosts.
    """

    shots: Sequence[Screenshot]
    link: str

    def in_new(self, client: GitHostClient, body: str) -> str:
        """Returns the description with which a pull request is opened. `body`: the description without the
        screenshots. If the git host accepts no images, adds a link to each chosen screenshot. Otherwise
        returns `body` unchanged, because images can be uploaded only after the pull request is open (see
        `in_opened`).
        """
        if image_host(client):
            return body
        return _with_section(body, [self._linked(shot) for shot in self.shots])

    async def in_opened(
        self, client: GitHostClient, repository: str, opened: OpenedPullRequest, body: str
    ) -> list[str]:
        """Uploads the chosen screenshots to the git host and adds them to the description of the new pull
        request. If the git host refuses a screenshot, adds a link to the screenshot instead. `body`: the
        description so far.

        Changes nothing if the git host accepts no images, or if the pull request was open already. Returns a
        sentence about each problem; the list is empty if there was no problem. Raises no errors of the git
        host, because the pull request is already open.
        """
        if not self.shots:
            return []
        if not opened.is_new:
            return ["The pull request was open already, so its description has not got the screenshots."]
        images = image_host(client)
        if images is None:
            return []
        number, lines, refused = opened.pull_request.number, [], []
        for count, shot in enumerate(self.shots, 1):
            try:
                image_url = await images.attach_image(repository, number, shot.image(count))
                lines.append(f"![{shot.title}]({image_url})")
            except AppError as error:
                lines.append(self._linked(shot))
                refused.append(f"A screenshot became a link to the conversation: {error.detail}")
        try:
            changes = PullRequestChanges(body=_with_section(body, lines))
            await client.update_pull_request(repository, number, changes)
        except AppError as error:
            refused.append(f"The description has not got the screenshots: {error.detail}")
        return refused

    def _linked(self, shot: Screenshot) -> str:
        return f"[{shot.title}]({self.link}?event={shot.event_id})"


def _screenshot(event: dict[str, Any]) -> Screenshot | None:
    observation = event.get("observation") or {}
    if observation.get("kind") != "BrowserObservation":
        return None
    parts = [part for part in observation.get("content") or [] if isinstance(part, dict)]
    urls = [url for part in parts for url in part.get("image_urls") or []]
    if not urls or not _DATA_URL.match(urls[0]):
        return None
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return Screenshot(str(event["id"]), _title(text), urls[0])


def _title(text: str) -> str:
    """Returns the title of the web page in a screenshot, or the page's address if there is no title. `text`:
    the output of the browser tool, whose first lines state the title and the address.
    """
    stated = dict(line.split(": ", 1) for line in text.splitlines()[:2] if ": " in line)
    title = stated.get("Title", "").strip() or stated.get("URL", "").strip() or "Screenshot"
    return _NOT_IN_MARKDOWN.sub(" ", title).strip()[:_MAX_TITLE_CHARACTERS] or "Screenshot"


def _with_section(body: str, lines: Sequence[str]) -> str:
    if not lines:
        return body
    return "\n\n".join(part for part in (body.rstrip(), "## Screenshots", *lines) if part)

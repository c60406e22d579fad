"""Publishes a reply of the model piece by piece while the model writes it."""

from collections.abc import Callable

from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.llm.messages import PieceKind, Retry
from agent_runtime.secrets.masking import Masker, StreamMask

_KINDS: tuple[PieceKind, ...] = ("text", "reasoning")


class ReplyStream:
    """An object that publishes one reply of the model to clients, piece by piece, while the model writes the
    reply.
    """

    def __init__(self, item_id: str, publish: Callable[[EventFrame], None], masker: Masker) -> None:
        """Prepares the publication of one reply of the model. `item_id`: the id of the first event that the
        complete reply will have. `publish`: sends a frame (message) to clients. `masker`: masks secret
        values, also if a value is split over several pieces.
        """
        self._item_id = item_id
        self._publish = publish
        self._open_attempt: int | None = None
        self._order = 0
        self._masker = masker
        self._masks: dict[PieceKind, StreamMask] = {}

    def started(self, attempt: int) -> None:
        self._open_attempt, self._order = attempt, 0
        self._masks = {kind: StreamMask(lambda: self._masker) for kind in _KINDS}
        self._publish(frames.item_started(self._item_id, attempt))

    def piece(self, attempt: int, kind: PieceKind, content: str) -> None:
        self._say(attempt, kind, self._masks[kind].feed(content))

    def end(self) -> None:
        """Ends the publication of the reply. First publishes the last text, which was held back because it
        could have been the beginning of a secret.
        """
        if self._open_attempt is not None:
            for kind, mask in self._masks.items():
                self._say(self._open_attempt, kind, mask.flush())

    def aborted(self, attempt: int, reason: str, retry: Retry | None = None) -> None:
        self._open_attempt = None
        self._publish(frames.item_aborted(self._item_id, attempt, reason, retry))

    def drop(self, reason: str) -> None:
        if self._open_attempt is not None:
            self.aborted(self._open_attempt, reason)

    def _say(self, attempt: int, kind: PieceKind, content: str) -> None:
        if content:
            self._publish(frames.delta(self._item_id, attempt, self._order, kind, content))
            self._order += 1

"""Stores the questions that MCP servers ask the user (elicitations) until the user has answered. When an MCP
server asks a question, and when a question is closed, a state event that contains all unanswered questions is
added to the event log.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agent_runtime.conversation.errors import McpAnswerInvalidError, McpQuestionClosedError
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.tools.mcp.questions import ElicitationResponse, Question, filled_in, objection

QUESTIONS = "mcp_questions"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains the list of all questions of MCP servers that wait for the user's answer.
"""
_META = "mcp_questions_told"


@dataclass(frozen=True)
class _Open:
    question: Question
    answered: "asyncio.Future[ElicitationResponse]"


class McpQuestions:
    """The questions of MCP servers that the user has not answered yet. The questions exist only in memory, so
    a crash of this process loses them. After a crash, `close_lost` logs that the questions from before the
    crash are closed.
    """

    def __init__(self, log: EventLog, emit: Callable[[ConversationStateUpdateEvent], None]) -> None:
        self._log = log
        self._emit = emit
        self._open: dict[str, _Open] = {}
        self._has_lost = bool(log.get_meta(_META))

    async def ask(self, question: Question) -> ElicitationResponse:
        """Shows the question of an MCP server to the user, waits for the user's answer, and returns the
        answer.
        """
        question_id = uuid4().hex
        self._open[question_id] = _Open(question, asyncio.get_running_loop().create_future())
        self._tell()
        try:
            return await self._open[question_id].answered
        finally:
            del self._open[question_id]
            self._tell()

    def answer(self, question_id: str, answer: ElicitationResponse) -> None:
        """Passes the user's answer to the MCP server that asked the question. If the answer has no value for
        a field of the question's form, the field gets its default value.

        Raises McpQuestionClosedError if the question does not wait for an answer. Raises
        McpAnswerInvalidError if the answer does not fit the form.
        """
        asked = self._open.get(question_id)
        if asked is None or asked.answered.done():
            raise McpQuestionClosedError
        asked.answered.set_result(_checked(asked.question, answer))

    def close_lost(self) -> None:
        """Logs that the questions from before a crash of this process are closed. The crash has ended the
        connections to the MCP servers, so that answers could no longer reach them. Does nothing if there are
        no such questions.
        """
        if self._has_lost and not self._open:
            self._tell()

    def _tell(self) -> None:
        self._emit(ConversationStateUpdateEvent(key="agent_state", value={QUESTIONS: self._open_questions()}))
        self._log.set_meta(_META, "open" if self._open else "")
        self._has_lost = False

    def _open_questions(self) -> list[JsonObject]:
        return [_body(question_id, asked.question) for question_id, asked in self._open.items()]


def _body(question_id: str, question: Question) -> JsonObject:
    body: dict[str, Any] = {"id": question_id, "server": question.server, "message": question.message}
    if question.requested_schema is None:
        return {**body, "url": question.url}
    return {**body, "requested_schema": dict(question.requested_schema)}


def _checked(question: Question, answer: ElicitationResponse) -> ElicitationResponse:
    if answer.action != "accept" or question.requested_schema is None:
        return ElicitationResponse(answer.action)
    content = filled_in(question.requested_schema, answer.content or {})
    if (problem := objection(question.requested_schema, content)) is not None:
        raise McpAnswerInvalidError(problem)
    return ElicitationResponse("accept", content)

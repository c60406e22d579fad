"""Writes the logs of model calls to files on the machine where the program runs."""

import logging
from pathlib import Path

from agent_runtime.events.message import LLMCompletionLogEvent
from agent_runtime.llm.config import LLM

logger = logging.getLogger(__name__)


def write_completion(llm: LLM, event: LLMCompletionLogEvent) -> None:
    """Writes the log of one model call to a file in the model's folder for logs (`log_completions_folder`).
    If the write fails, logs the failure.
    """
    folder = Path(llm.log_completions_folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / event.filename).write_text(event.log_data, encoding="utf-8")
    except OSError as error:
        logger.warning("the log of a completion cannot be written to %s: %s", folder, error.strerror)

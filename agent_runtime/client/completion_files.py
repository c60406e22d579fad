"""Writes the logs of completions to files on the program's machine."""

import logging
from pathlib import Path

from agent_runtime.events.message import LLMCompletionLogEvent
from agent_runtime.llm.config import LLM

logger = logging.getLogger(__name__)


def write_completion(llm: LLM, event: LLMCompletionLogEvent) -> None:
    """Writes one file into the folder that the model's settings name. If that fails, logs the failure."""
    folder = Path(llm.log_completions_folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / event.filename).write_text(event.log_data, encoding="utf-8")
    except OSError as error:
        logger.warning("the log of a completion cannot be written to %s: %s", folder, error.strerror)

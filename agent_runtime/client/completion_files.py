"""Logs of completions as files of the program whose conversations these are."""

import logging
from pathlib import Path

from agent_runtime.events.message import LLMCompletionLogEvent
from agent_runtime.llm.config import LLM

logger = logging.getLogger(__name__)


def write_completion(llm: LLM, event: LLMCompletionLogEvent) -> None:
    """One file in the folder of the model's settings. Where that cannot be done, it is said in the log."""
    folder = Path(llm.log_completions_folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / event.filename).write_text(event.log_data, encoding="utf-8")
    except OSError as error:
        logger.warning("the log of a completion cannot be written to %s: %s", folder, error.strerror)

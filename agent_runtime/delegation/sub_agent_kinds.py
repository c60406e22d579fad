"""Lists the kinds of sub-agents that a conversation may start."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from agent_runtime.context.sub_agents import SubAgent, find_sub_agents
from agent_runtime.events.base import JsonObject

logger = logging.getLogger(__name__)


def kinds_for(projects: Sequence[Path], given: Sequence[JsonObject]) -> list[SubAgent]:
    """Returns the definitions of the sub-agents that a conversation may start. If several definitions have
    the same name, the first one in this order is used: definitions in the client's request, from the projects
    in their order, from the user's files, built-in definitions, and copies of built-in definitions in the
    client's request.

    `projects`: the directories of the projects. `given`: the definitions in the client's request; those that
    are not valid are ignored. The function blocks for a limited time, because it reads files.
    """
    sent = list(_sent(given))
    found, _ = find_sub_agents(projects, Path.home())
    own = [one for one in sent if not one.is_builtin]
    return _named_once([*own, *found, *sent])


def _sent(given: Sequence[JsonObject]) -> Iterator[SubAgent]:
    for one in given:
        try:
            yield SubAgent.model_validate({"level": "user", "source": "sent by the client", **one})
        except ValidationError as error:
            # Clients send all definitions that they know. So a bad one is only logged.
            logger.warning("a sub-agent's definition is not valid", extra={"problems": error.error_count()})


def _named_once(candidates: Iterable[SubAgent]) -> list[SubAgent]:
    named: dict[str, SubAgent] = {}
    for one in candidates:
        named.setdefault(one.name, one)
    return list(named.values())

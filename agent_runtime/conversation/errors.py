"""What a conversation refuses."""


class AlreadyRunningError(Exception):
    """A run was asked for while one is going on."""


class NoCondenserError(Exception):
    """A condensation was asked for, and the agent has nothing that could make it."""


class NothingToCondenseError(Exception):
    """A condensation was asked for, and there is too little to forget."""


class EventNotFoundError(Exception):
    """An event was named that is not in this log, or that one cannot go back to."""

"""The setting that decides how much of a repository's history is fetched when a conversation starts. A
request that starts a conversation can choose another value.
"""

from enum import StrEnum


class CloneMode(StrEnum):
    """How much of a repository's history is fetched when a conversation is started.

    `full`: everything. `shallow`: the newest commit of each branch; git fetches older commits on demand.
    `blobless`: all commits, but the contents of files only when git needs them.
    """

    FULL = "full"
    SHALLOW = "shallow"
    BLOBLESS = "blobless"


DEFAULT_MODE = CloneMode.FULL
"""The mode if neither the start nor a level names one."""
FETCHES_SUBMODULES = True
"""Whether submodules are fetched if neither the start nor a level says it."""

"""The setting that says how much of a repository's history is fetched when a conversation starts. A request
that starts a conversation can override the setting.
"""

from enum import StrEnum


class CloneMode(StrEnum):
    """How much of a repository's history is fetched when a conversation starts.

    `full`: all commits with all files. `shallow`: only the newest commit of each branch; git fetches older
    commits when they are needed. `blobless`: all commits, but git fetches the contents of files only when
    they are needed.
    """

    FULL = "full"
    SHALLOW = "shallow"
    BLOBLESS = "blobless"


DEFAULT_MODE = CloneMode.FULL
"""The mode that applies if neither the request nor a setting of the user, a team or the organisation names
one.
"""
FETCHES_SUBMODULES = True
"""Whether submodules are fetched if neither the request nor a setting of the user, a team or the organisation
says whether to fetch them.
"""

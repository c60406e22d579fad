"""Clone modes: how much of a repository's history git fetches when a conversation starts."""

from app_server.git.address import Address
from app_server.settings.cloning import DEFAULT_MODE, CloneMode


def options_of(mode: CloneMode) -> str:
    """Returns the command-line options of `git clone` for this clone mode. The options set how much of the
    history git fetches.
    """
    return {
        CloneMode.FULL: "",
        CloneMode.SHALLOW: "--depth=1 --no-single-branch",
        CloneMode.BLOBLESS: "--filter=blob:none",
    }[mode]


def mode_for(wanted: CloneMode | None, address: Address) -> CloneMode:
    """Returns the clone mode with which the repository is cloned. A repository that git in a sandbox cannot
    reach is always cloned with its full history, because git could not fetch the missing history later.

    wanted: the mode that the user chose. None means the default mode; this occurs if an older version of
    Slipway, which had no clone modes, created the conversation. address: the address of the repository.
    """
    return wanted or DEFAULT_MODE if address.web_url is not None else CloneMode.FULL


def words_for_agent(mode: CloneMode) -> str | None:
    """Returns the text that tells the agent which part of the repository's history is missing. Returns None
    if the full history was cloned.
    """
    return {
        CloneMode.FULL: None,
        CloneMode.SHALLOW: (
            "The clone is shallow: it has the newest commit of each branch. `git fetch --deepen=100` gets "
            "older commits, `git fetch --unshallow` gets all. Do this before you merge, rebase, or look at "
            "older history."
        ),
        CloneMode.BLOBLESS: (
            "The clone has all commits, but git fetches the contents of older files when a command needs "
            "them. Commands that read many old files (`git log -p`, `git blame`) take longer."
        ),
    }[mode]

"""The kinds of git hosts. Their names are the same as in OpenHands' API, with which Slipway's API is
compatible. Does no I/O.
"""

from enum import StrEnum
from urllib.parse import urlsplit

from app_server.git.address import HOST_OF_PROVIDER


class GitProvider(StrEnum):
    """The kinds of git hosts, with the names that the API uses. `forgejo` is also used for Gitea."""

    GITHUB = "github"
    GITLAB = "gitlab"
    BITBUCKET = "bitbucket"
    BITBUCKET_DATA_CENTER = "bitbucket_data_center"
    AZURE_DEVOPS = "azure_devops"
    FORGEJO = "forgejo"


HOSTS: dict[GitProvider, str | None] = {
    **{GitProvider(name): host for name, host in HOST_OF_PROVIDER.items()},
    GitProvider.AZURE_DEVOPS: "dev.azure.com",
    GitProvider.BITBUCKET_DATA_CENTER: None,
}
"""Maps a provider to its usual host. None means that the provider has no usual host, so the user must state
the host.
"""


def provider_of(origin: str, stated: GitProvider | None = None) -> tuple[GitProvider, str | None]:
    """Returns the provider of a git host, and the host's name. The name is None if the host is the provider's
    usual host, such as `github.com`.

    `stated`: the provider that the user has given for this host. None means that the provider is guessed from
    the host's name.
    """
    host = urlsplit(origin).netloc
    provider = stated or _guess(host)
    return provider, None if host == HOSTS[provider] else host


def _guess(host: str) -> GitProvider:
    for provider, own in HOSTS.items():
        if host == own:
            return provider
    for word, provider in (
        ("github", GitProvider.GITHUB),
        ("gitlab", GitProvider.GITLAB),
        ("bitbucket", GitProvider.BITBUCKET_DATA_CENTER),
        ("visualstudio", GitProvider.AZURE_DEVOPS),
    ):
        if word in host:
            return provider
    return GitProvider.FORGEJO

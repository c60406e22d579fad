"""The protocol's names for git hosts. Pure."""

from urllib.parse import urlsplit

from app_server.git.address import HOST_OF_PROVIDER

HOSTS: dict[str, str | None] = {
    **HOST_OF_PROVIDER,
    "azure_devops": "dev.azure.com",
    "bitbucket_data_center": None,
}
"""Maps a provider to its usual host. None: the provider has no usual host, so a host must be given."""


def provider_of(origin: str) -> tuple[str, str | None]:
    """Returns the provider for a host, and the host's name. The name is None if it is the provider's usual
    host.
    """
    host = urlsplit(origin).netloc
    for provider, own in HOSTS.items():
        if host == own:
            return provider, None
    for word, provider in (
        ("github", "github"),
        ("gitlab", "gitlab"),
        ("bitbucket", "bitbucket_data_center"),
        ("visualstudio", "azure_devops"),
    ):
        if word in host:
            return provider, host
    return "forgejo", host

"""The protocol's names of git hosts. Pure."""

from urllib.parse import urlsplit

from app_server.git.address import HOST_OF_PROVIDER

HOSTS: dict[str, str | None] = {
    **HOST_OF_PROVIDER,
    "azure_devops": "dev.azure.com",
    "bitbucket_data_center": None,
}
"""None: only with a host."""


def provider_of(origin: str) -> tuple[str, str | None]:
    """The provider that a host is taken for, and its name unless it is the provider's own."""
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

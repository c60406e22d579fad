"""Makes git connect only to the IP address that the server has checked, so that users cannot reach hosts in
the server's private network.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app_server.core.addresses import is_address, parse_named
from app_server.core.config import Config
from app_server.core.errors import Forbidden, StartFailure
from app_server.http.guarded_client import Guard
from app_server.http.outgoing_proxy import upstream_of

_PORTS = {"http": 80, "https": 443}
# The target of a redirect has not been checked.
_NO_REDIRECTS = {"http.followRedirects": "false"}


@dataclass(frozen=True)
class GitConnectionOptions:
    """The options with which git connects to a repository's host. `settings`: git settings. `ssh_options`:
    options for the command line of ssh.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    ssh_options: str = ""


def guard_for(config: Config, *, administers: bool) -> Guard | None:
    """Returns a guard: a check of network addresses that prevents git from connecting to private addresses.
    The guard allows the private addresses that the configuration names (`egress_private`). Returns None for
    administrators of the installation, who may use repositories on any host.

    `administers`: whether the user is an administrator of the installation, see
    User.administers_installation.
    """
    if administers:
        return None
    return Guard(parse_named(config.egress_private), upstream=upstream_of())


async def way_to(url: str, guard: Guard | None) -> GitConnectionOptions:
    """Checks that git may connect to the host of a repository, and returns the options with which git
    connects.

    `url`: a URL over http, https or ssh, or `user@host:path`. `guard`: checks that the host's addresses are
    not private; None means that every host is allowed. With the returned options, git never follows
    redirects. Raises StartFailure `repository_not_allowed` if git may not connect to the host. Raises
    StartFailure `repository_not_found` if the host cannot be found.
    """
    if guard is None:
        return GitConnectionOptions(_NO_REDIRECTS)
    scheme, host, port = _parts(url)
    if host.endswith("."):
        # Git would treat it as another name than the one that was resolved.
        raise StartFailure(
            "repository_not_allowed",
            f"{host} ends with a dot.",
            fix="Write the name of the host without the dot at its end.",
        )
    try:
        match scheme:
            case "http" | "https":
                return await _way_of_http(guard, scheme, host, port)
            case "ssh":
                address = await guard.address_of(host)
                return GitConnectionOptions(ssh_options=f" -o HostName={address} -o HostKeyAlias={host}")
            case _:
                raise StartFailure(
                    "repository_not_allowed",
                    f"Only owners and admins may use repositories over {scheme}.",
                    fix="Use the repository's https address.",
                )
    except Forbidden as error:
        raise StartFailure("repository_not_allowed", error.detail, fix=error.fix or "") from error
    except (OSError, TimeoutError) as error:
        raise StartFailure(
            "repository_not_found", f"{host} cannot be found.", fix="Check the address, then retry."
        ) from error


async def _way_of_http(guard: Guard, scheme: str, host: str, port: int | None) -> GitConnectionOptions:
    route = await guard.route_to(host, scheme)
    settings = dict(_NO_REDIRECTS)
    if route.address:
        settings["http.proxy"] = ""
        if not is_address(host):
            address = f"[{route.address}]" if ":" in route.address else route.address
            settings["http.curloptResolve"] = f"{host}:{port or _PORTS[scheme]}:{address}"
    return GitConnectionOptions(settings)


def _parts(url: str) -> tuple[str, str, int | None]:
    """Returns the scheme, host and port of a repository's URL. The port is None if the URL has none."""
    if "://" in url:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port
    return "ssh", url.partition(":")[0].rpartition("@")[2].lower(), None

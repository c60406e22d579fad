"""The commands `slipway login` and `slipway logout`. `login` gets an API key from a Slipway server for this
terminal, and `logout` deletes the key.
"""

import socket
import time
import webbrowser
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from app_server.cli.credentials import CredentialFile, ServerCredential, UnreadableCredentials
from app_server.cli.home import leave

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import OAuth2Client

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"

_CLIENT_ID = "slipway-cli"
_TIMEOUT_SECONDS = 30.0
_SLOWER_BY_SECONDS = 5
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_REFUSALS = {
    "access_denied": "The sign-in was refused in the browser.",
    "expired_token": "The code has expired. Run the command again.",
}

ServerUrl = Annotated[str, typer.Argument(metavar="URL", help="Address of the server.")]


def login(
    url: ServerUrl,
    name: Annotated[
        str | None, typer.Option(help="Name of the key. Default: the name of this machine.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="A permission that the key gets. May be given again. Default: read, work."),
    ] = None,
    days: Annotated[int, typer.Option(help="Days until the key expires.", min=1, max=365)] = 90,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    plain_http: Annotated[
        bool, typer.Option("--plain-http", help="Allow an address without TLS on another machine.")
    ] = False,
) -> None:
    """Sign this terminal in at a server. You confirm a code in a browser that is already signed in at this
    server.

    The server creates an API key. The key is listed under Settings → API keys and can be revoked there.
    """
    server = server_address(url)
    parts = urlsplit(server)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not plain_http:
        leave("Without TLS, others in the network can read the key. Use https:// or --plain-http.")
    file = CredentialFile()
    key_name = name or f"slipway on {socket.gethostname()}"
    form = {
        "client_id": _CLIENT_ID,
        "device_name": key_name,
        "scope": " ".join(scope or ()),
        "expires_in_days": str(days),
    }
    with _client() as client:
        earlier = _known(file).get(server)
        codes = _post(client, f"{server}/oauth/device/authorize", form)
        page = codes["verification_uri_complete"]
        typer.echo(f"Open {page}\nand compare the code there: {codes['user_code']}")
        if browser:
            webbrowser.open(page)
        token = _wait_for_key(client, server, codes)
        file.save(server, ServerCredential(key=token["access_token"], name=key_name))
        if earlier is not None:
            _revoke(client, server, earlier.key)
    typer.echo(f"Signed in at {server} with the key {key_name!r} ({token['scope']}). It is in {file.path}.")


def logout(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="Address of the server. Default: the only one.")
    ] = None,
) -> None:
    """Sign this terminal out of a server: delete its API key, on the server and on this machine."""
    file = CredentialFile()
    known = _known(file)
    if not known:
        leave("This terminal is not signed in at any server.")
    if url is None and len(known) > 1:
        leave(f"Name the server: {', '.join(sorted(known))}")
    server = server_address(url) if url else next(iter(known))
    if server not in known:
        leave(f"This terminal is not signed in at {server}.")
    with _client() as client:
        _revoke(client, server, known[server].key)
    file.remove(server)
    typer.echo(f"Signed out at {server}. Its key is deleted.")


def key_for(url: str) -> str:
    """Returns the API key for a server. Ends the program if this terminal is not signed in at this server."""
    server = server_address(url)
    found = _known(CredentialFile()).get(server)
    if found is None:
        leave(f"This terminal is not signed in at {server}. Run: slipway login {server}")
    return found.key


def server_address(url: str) -> str:
    """Returns the server's URL in the form in which the credentials file stores it. Ends the program if the
    URL is not valid.
    """
    text = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        leave(f"{url!r} is not an address.")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
        leave(f"{url!r} is not the address of a server, such as https://slipway.example.com")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _client() -> "OAuth2Client":
    # Imported here, because it takes long.
    from authlib.integrations.httpx_client import OAuth2Client

    return OAuth2Client(
        _CLIENT_ID,
        token_endpoint_auth_method="none",  # noqa: S106 (a method)
        revocation_endpoint_auth_method="none",
        timeout=_TIMEOUT_SECONDS,
    )


def _known(file: CredentialFile) -> dict[str, ServerCredential]:
    try:
        return file.all()
    except UnreadableCredentials as error:
        leave(str(error))


def _post(client: "OAuth2Client", address: str, form: dict[str, str]) -> dict[str, Any]:
    import httpx2

    try:
        reply = client.request("POST", address, data=form, withhold_token=True)
        answer: dict[str, Any] = reply.json()
    except httpx2.TransportError as error:
        leave(f"{address} does not answer: {error}")
    except ValueError:
        leave(f"{address} is not a Slipway server of this version.")
    if reply.is_error:
        leave(str(answer.get("detail") or f"{address} answers with HTTP {reply.status_code}."))
    return answer


def _wait_for_key(client: "OAuth2Client", server: str, codes: dict[str, Any]) -> dict[str, Any]:
    import httpx2
    from authlib.integrations.base_client import OAuthError

    pause: float = codes["interval"]
    deadline = time.monotonic() + codes["expires_in"]
    token: dict[str, Any] | None = None
    while token is None:
        if time.monotonic() > deadline:
            leave(_REFUSALS["expired_token"])
        time.sleep(pause)
        try:
            token = client.fetch_token(
                f"{server}/oauth/device/token", grant_type=GRANT_TYPE, device_code=codes["device_code"]
            )
        except OAuthError as error:
            if error.error == "slow_down":
                pause += _SLOWER_BY_SECONDS
            elif error.error != "authorization_pending":
                leave(_REFUSALS.get(error.error, str(error.description or error.error)))
        except (httpx2.TransportError, httpx2.HTTPStatusError):
            # RFC 8628 asks for longer pauses when the server does not answer.
            pause += _SLOWER_BY_SECONDS
    if "access_token" not in token:
        leave(str(token.get("detail", "The server did not send a key.")))
    return token


def _revoke(client: "OAuth2Client", server: str, key: str) -> None:
    import httpx2

    try:
        reply = client.request("POST", f"{server}/oauth/revoke", data={"token": key}, withhold_token=True)
    except httpx2.TransportError as error:
        leave(f"{server} does not answer, so the key stays: {error}")
    if reply.is_error:
        leave(f"{server} did not delete the key: HTTP {reply.status_code}. Revoke it in the settings.")

"""A certified OpenID Connect provider on this machine. It signs users in without asking them.

provider = CertifiedProvider(folder)
config = Config(oidc_providers=[provider.settings(roles={"admins": "admin"})], ...)
with provider.running(config.base_url):
    ...
"""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

SCRIPT = Path(__file__).with_name("identity_provider.mjs")
SECRET = "client-secret-canary"
LOGIN_COOKIE = "tests_login"


class CertifiedProvider:
    """The provider. Its `issuer` is known before it runs, so that the app server can be configured first."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}"
        self._secret_file = folder / "client-secret"
        self._secret_file.write_text(f"{SECRET}\n")

    @contextmanager
    def running(self, server_url: str) -> Iterator[None]:
        """Runs the provider. server_url: the URL of the app server, as the browser reaches it."""
        uris = [f"{server_url}/api/v1/sign-in/oidc/acme/{end}" for end in ("callback", "logout")]
        with subprocess.Popen(
            ["node", str(SCRIPT), str(self.port), *uris],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            said = process.stdout.readline()
            while said and said.strip() != "ready":
                said = process.stdout.readline()
            try:
                assert said, "the provider ended before it was ready"
                yield
            finally:
                process.kill()
                process.communicate(timeout=PATIENCE_SECONDS)

    def settings(self, **further: Any) -> Mapping[str, Any]:
        """Returns an entry of the setting SLIPWAY_OIDC_PROVIDERS for this provider."""
        return {
            "name": "acme",
            "title": "Acme",
            "issuer": self.issuer,
            "client_id": "slipway",
            "client_secret_file": str(self._secret_file),
            **further,
        }

    def refuse_next(self) -> None:
        httpx.get(f"{self.issuer}/tests/refuse-next", trust_env=False).raise_for_status()

"""A small server in place of Google's token endpoint for service accounts. It checks what Google checks: the
grant, the signature and the claims.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"


@dataclass
class GoogleSignIn:
    """The token endpoint. `tokens`: the tokens that it has issued. `valid_seconds`: how long a token is
    valid.
    """

    url: str = ""
    valid_seconds: int = 3599
    tokens: list[str] = field(default_factory=list)
    _key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )

    def account_key(self, **changes: Any) -> str:
        """Returns the JSON key file of a service account that this server accepts. `changes`: fields to
        replace.
        """
        pem = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        content = {
            "type": "service_account",
            "project_id": "our-project",
            "private_key_id": "key-1",
            "private_key": pem.decode(),
            "client_email": "agent@our-project.iam.gserviceaccount.com",
            "token_uri": "http://127.0.0.1:1/must-not-be-called",
        }
        return json.dumps({**content, **changes})

    def answer(self, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        try:
            assert form["grant_type"] == [GRANT]
            key = RSAKey.import_key(self._key.public_key())
            decoded = jwt.decode(form["assertion"][0], key, algorithms=["RS256"])
        except (AssertionError, JoseError, KeyError):
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        claims, now = decoded.claims, time.time()
        assert decoded.header["kid"] == "key-1"
        assert (claims["aud"], claims["scope"]) == (self.url, SCOPE)
        assert now - 60 < claims["iat"] <= claims["exp"] <= claims["iat"] + 3600
        token = f"token-canary-{len(self.tokens) + 1}-of-{claims['iss']}"
        self.tokens.append(token)
        return 200, {"access_token": token, "expires_in": self.valid_seconds, "token_type": "Bearer"}


@contextmanager
def google_sign_in() -> Iterator[GoogleSignIn]:
    google = GoogleSignIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, content = google.answer(parse_qs(body))
            encoded = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *_: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    google.url = f"http://127.0.0.1:{server.server_port}/token"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield google
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Simulated sandbox hosts: machines with their own Docker engine, on which `slipway sandbox-host` runs.

with SandboxHostMachine(tmp_path / "a", "a", memory_total_bytes=2 * SANDBOX_BYTES) as host:
    AppServerProcess(home, sandbox="remote", environment=environment_for([host], tmp_path))
    host.lose()                                         # ends the machine and all its processes
    host.boot_again()                                   # starts it again with its old disk
"""

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app_server.sandbox_backends.remote.wire import TOKEN_HEADER
from tests.support.own_engine import OwnEngine
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.server import wait_until

PORT = 3010
SANDBOX_BYTES = 512 * 1024**2


class SandboxHostMachine:
    """A simulated sandbox host. `memory_total_bytes`: the memory of all its sandboxes together.

    Each sandbox gets `SANDBOX_BYTES` and starts from the image of the tests.
    """

    def __init__(self, folder: Path, name: str, *, memory_total_bytes: int) -> None:
        folder.mkdir()
        self.name = name
        self.home = folder / "home"
        self.certificate, self._key = folder / "certificate.pem", folder / "key.pem"
        self._log = folder / "host.log"
        self._memory_total_bytes = memory_total_bytes
        self.engine = OwnEngine(memory_bytes=memory_total_bytes, image=sandbox_image())
        self.url = f"https://{self.engine.address}:{PORT}"
        self._process: subprocess.Popen[bytes] | None = None
        self._last_error: Exception | None = None

    def __enter__(self) -> Self:
        try:
            self.boot()
            self.come_up()
        except BaseException:
            self.lose()
            self.engine.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.engine.__exit__(kind, error, trace)

    def boot(self) -> None:
        """Starts only the simulated machine. The machine ends when the calling thread ends (see
        OwnEngine).
        """
        _certify(self.engine.address, self.certificate, self._key)
        self.engine.boot()

    def come_up(self) -> None:
        """Starts the Docker engine of the machine and the sandbox host service."""
        self.engine.start()
        self.start()

    @property
    def token_file(self) -> Path:
        return self.home / "host-token"

    def start(self) -> None:
        """Starts only the sandbox host service. The Docker engine must run."""
        environment = {
            **os.environ,
            **self.engine.environment,
            "SLIPWAY_HOME": str(self.home),
            "SLIPWAY_HOST": self.engine.address,
            "SLIPWAY_SANDBOX_HOST_PORT": str(PORT),
            "SLIPWAY_SANDBOX_HOST_CERTIFICATE": str(self.certificate),
            "SLIPWAY_SANDBOX_HOST_KEY": str(self._key),
            "SLIPWAY_SANDBOX_MEMORY_BYTES": str(SANDBOX_BYTES),
            "SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES": str(self._memory_total_bytes),
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.engine.inside, sys.executable, "-m", "app_server", "sandbox-host"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(
            self._answers, lambda: f"the sandbox host {self.name} ({self._last_error!r}):\n{self.output()}"
        )

    def stop(self) -> None:
        """Stops only the sandbox host service. Its sandboxes go on."""
        if self._process is None:
            return
        self._process.terminate()
        self._process.wait(timeout=PATIENCE_SECONDS)
        self._process = None

    def lose(self) -> None:
        self.engine.lose()
        if self._process:
            self._process.wait(timeout=PATIENCE_SECONDS)
            self._process = None

    def boot_again(self) -> None:
        self.engine.boot_again()
        self.start()

    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def client(self, token: str | None = None) -> httpx.Client:
        """Returns an HTTP client that calls the service as an app server does.

        token: the host token to send; None for the right token, empty for none.
        """
        shown = self.token_file.read_text().strip() if token is None else token
        return httpx.Client(
            base_url=f"{self.url}/v1",
            headers={TOKEN_HEADER: shown} if shown else {},
            verify=ssl.create_default_context(cafile=str(self.certificate)),
            timeout=PATIENCE_SECONDS,
            trust_env=False,
        )

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.output()
        try:
            with self.client("") as client:
                return client.get(f"{self.url}/health").is_success
        except (httpx.TransportError, FileNotFoundError) as error:
            self._last_error = error
            return False


def environment_for(hosts: Sequence[SandboxHostMachine], folder: Path) -> Mapping[str, str]:
    """Returns the environment variables that make an app server use these sandbox hosts.

    folder: where the file with the certificates of the hosts is written.
    """
    authorities = folder / "authorities.pem"
    authorities.write_text("".join(host.certificate.read_text() for host in hosts))
    told = [{"name": host.name, "url": host.url, "token_file": str(host.token_file)} for host in hosts]
    return {
        "SLIPWAY_SANDBOX_HOSTS": json.dumps(told),
        "SLIPWAY_SANDBOX_HOSTS_CA": str(authorities),
        "SLIPWAY_SANDBOX_HOST_PATIENCE_SECONDS": "6",
        "SLIPWAY_SANDBOX_MEMORY_BYTES": str(SANDBOX_BYTES),
    }


def _certify(address: str, certificate: Path, key_file: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"sandbox host {address}")])
    today = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )

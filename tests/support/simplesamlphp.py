"""Debian's SimpleSAMLphp as a SAML identity provider on this machine. It signs one user in without asking.

idp = SimpleSamlPhp(folder)
config = Config(saml_providers=[idp.settings()], ...)
with idp.running():
    idp.register(entity_id, acs)
    ...
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.ports import free_port
from tests.support.saml_provider import write_key

HOME = Path("/usr/share/simplesamlphp")
_PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"


class SimpleSamlPhp:
    """The provider. `url`: its URL, known before it runs. `person`: the attributes of the user; `uid` is the
    NameID.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.person = {"uid": ["ada"], "name": ["Ada"], "groups": ["staff", "admins"]}

    def settings(self, **further: Any) -> Mapping[str, Any]:
        """Returns an entry of the setting SLIPWAY_SAML_PROVIDERS for this provider."""
        return {
            "name": "acme",
            "title": "Acme",
            "entity_id": f"{self.url}/idp",
            "metadata_url": f"{self.url}/saml2/idp/metadata.php",
            "name_attribute": "name",
            "groups_attribute": "groups",
            **further,
        }

    @contextmanager
    def running(self) -> Iterator[None]:
        write_key(self.folder)
        self._write("config", self._config())
        self._write("authsources", {"people": {"0": "exampleauth:StaticSource", **self.person}})
        self._write("saml20-idp-hosted", {f"{self.url}/idp": self._hosted()}, "metadata")
        environment = {**os.environ, "SIMPLESAMLPHP_CONFIG_DIR": str(self.folder)}
        with (self.folder / "log").open("w") as log:
            command = ["php", "-S", f"127.0.0.1:{self.port}", "-t", str(HOME / "www")]
            with subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
                try:
                    for pause in pauses_between_looks():
                        if self._answers():
                            break
                        assert process.poll() is None, (self.folder / "log").read_text()
                        time.sleep(pause)
                    yield
                finally:
                    process.kill()
                    process.wait(PATIENCE_SECONDS)

    def register(self, entity_id: str, acs: str, **of_service: Any) -> None:
        """Registers the app server to which users sign in. A second call replaces the first.

        `of_service`: further entries of `saml20-sp-remote.php`, such as `saml20.sign.assertion`.
        """
        service = {"AssertionConsumerService": acs, "NameIDFormat": _PERSISTENT, **of_service}
        self._write("saml20-sp-remote", {entity_id: service}, "metadata")

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/saml2/idp/metadata.php", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def _write(self, name: str, values: Mapping[str, Any], variable: str = "config") -> None:
        # PHP reads the JSON file, so the values need no quoting for PHP.
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(values))
        code = f"<?php ${variable} = json_decode(file_get_contents('{path}'), true);\n"
        (self.folder / f"{name}.php").write_text(code)

    def _config(self) -> dict[str, Any]:
        return {
            "baseurlpath": f"{self.url}/",
            "certdir": f"{self.folder}/",
            "metadatadir": f"{self.folder}/",
            "tempdir": str(self.folder),
            "datadir": f"{self.folder}/",
            "loggingdir": f"{self.folder}/",
            "logging.handler": "errorlog",
            "secretsalt": "salt-of-the-tests",
            "technicalcontact_email": "admin@example.org",
            "enable.saml20-idp": True,
            "module.enable": {"exampleauth": True, "core": True, "saml": True},
            "session.phpsession.savepath": str(self.folder),
            "store.type": "phpsession",
            "metadata.sources": [{"type": "flatfile"}],
        }

    def _hosted(self) -> dict[str, Any]:
        named = {"class": "saml:AttributeNameID", "attribute": "uid", "Format": _PERSISTENT}
        return {
            "host": "__DEFAULT__",
            "privatekey": "idp.key",
            "certificate": "idp.pem",
            "auth": "people",
            "authproc": {"3": named},
        }

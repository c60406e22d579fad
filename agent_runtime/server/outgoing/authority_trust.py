"""Makes commands trust an additional certificate authority. The egress proxy (the proxy between the sandbox
and the internet) decrypts the TLS connections to some hosts, because it adds a credential to the requests.
The additional authority signs the certificates that the proxy shows for these hosts.

This module writes a file with the system's authorities and the additional authority, and sets the variables
by which programs find the file. The agent's browser has a separate list of authorities; the additional
authority is added to this list when the browser starts. Java programs do not trust the authority.
"""

import errno
import logging
import os
import ssl
from pathlib import Path

from agent_runtime.server.saved.atomic_write import replace_file
from agent_runtime.workspace.environment import AUTHORITY, set_trusted

FILE = ".authorities.pem"
ONE_FILE = ".authority.pem"
APT_FILE = ".apt.conf"

_VARIABLES = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO"),
    *("NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT"),
)
_USUAL = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/cert.pem"),
)

logger = logging.getLogger(__name__)


def trust(directory: Path, authority: bytes) -> None:
    """Makes all commands that start later trust the certificate authority `authority` (PEM). For this, writes
    small files into `directory`, from which the commands read the trusted authorities. The call blocks
    briefly. Raises OSError if the files cannot be written, except if the disk is full.

    If the disk is full, the function only logs a warning, because the agent that filled the disk must still
    be able to free space.
    """
    file, one_file, apt_file = directory / FILE, directory / ONE_FILE, directory / APT_FILE
    try:
        _put(file, _of_system().rstrip() + b"\n" + authority)
        _put(one_file, authority)
        _put(apt_file, f'Acquire::https::CAInfo "{file}";\n'.encode())
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        logger.warning("the disk is full: commands will not trust the proxy that adds credentials")
        return
    found_by = {**dict.fromkeys(_VARIABLES, str(file)), AUTHORITY: str(one_file), "APT_CONFIG": str(apt_file)}
    set_trusted(found_by)


def _put(path: Path, content: bytes) -> None:
    """Writes `content` to the file. Does nothing if the file already has this content, because a write needs
    free disk space.
    """
    if not (path.is_file() and path.read_bytes() == content):
        replace_file(path, content, is_for_commands=True)


def _of_system() -> bytes:
    """Returns the certificate authorities (PEM) that commands trust by default. They are read from the file
    that SSL_CERT_FILE or REQUESTS_CA_BUNDLE names; without these variables, from the file of the operating
    system.
    """
    named = [
        Path(os.environ[name]) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE") if os.environ.get(name)
    ]
    default = ssl.get_default_verify_paths().cafile
    for path in (*named, *_USUAL, *([Path(default)] if default else [])):
        if path.is_file():
            return path.read_bytes()
    import certifi  # the last resort

    return Path(certifi.where()).read_bytes()

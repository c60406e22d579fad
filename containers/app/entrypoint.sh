#!/bin/sh
# The `slipway` command in a container. What the services of docker-compose.yml share with each other lies in
# /credentials: the token of the sandbox host and the password of the database. None of it is a variable of a
# container, where `docker inspect` would show it.
set -eu

credentials=${SLIPWAY_CREDENTIALS:-/credentials}
slipway=/opt/slipway/.venv/bin/slipway

if [ "${1:-}" = sandbox-host ]; then
    # The app server runs as another user, who may read the token through the group.
    token=$SLIPWAY_HOME/host-token
    if [ ! -s "$token" ]; then
        (umask 077; /usr/bin/python3 -c 'import secrets; print(secrets.token_urlsafe(32), end="")' > "$token.new")
        mv "$token.new" "$token"
    fi
    install -m 0440 -o root -g slipway "$token" "$credentials/host-token"
fi

if [ -z "${SLIPWAY_DATABASE_URL:-}" ] && [ -n "${SLIPWAY_DATABASE_HOST:-}" ]; then
    password=$(cat "$credentials/database-password")
    SLIPWAY_DATABASE_URL="postgresql+asyncpg://slipway:$password@$SLIPWAY_DATABASE_HOST/slipway"
    export SLIPWAY_DATABASE_URL
fi
unset SLIPWAY_CREDENTIALS SLIPWAY_DATABASE_HOST

exec "$slipway" "$@"

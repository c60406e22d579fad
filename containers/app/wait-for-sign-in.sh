#!/bin/sh
# Prints a sign-in link once the app server answers.   wait-for-sign-in.sh "docker compose"
set -eu

compose=$1
for _ in $(seq 120); do
    if link=$($compose exec -T app slipway sign-in-link 2>/dev/null); then
        echo "Slipway runs. Sign in: $link"
        exit 0
    fi
    sleep 2
done
echo "The app server does not answer. What it said last:" >&2
$compose logs --tail 40 app sandbox-host postgres >&2
exit 1

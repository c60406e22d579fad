#!/bin/sh
# Starts the agent server. Its session key comes in a file, which it removes before any command of the agent runs:
# in an environment or on a command line everybody inside could read it.
set -eu
key_file=/workspace/.session-key
init_key_file=/workspace/.init-key
# A person who runs this image by hand may pass the key in a variable instead.
if [ -e "$key_file" ]; then
    set -- --session-key-from "$key_file"
elif [ -f "$init_key_file" ]; then
    # A standby server: a caller with this key assigns it to a conversation later. The key works only once.
    OH_INIT_API_KEY=$(cat "$init_key_file")
    export OH_INIT_API_KEY OH_DEFERRED_INIT=true
fi
rm -f "$init_key_file"
# Before any command of the agent runs, and as the agent: what lies in its home may lead anywhere.
as_agent=
[ "$(id -u)" != 0 ] || as_agent="setpriv --reuid=10001 --regid=$(id -g agent) --clear-groups --bounding-set=-all"
$as_agent sh /opt/slipway/commands/make-home.sh || echo "The home of the agent is not whole: is the disk full?" >&2
# As root it becomes two users: what the agent runs cannot reach the server. Run by hand, as the image's user, both
# are the same one.
[ "$(id -u)" != 0 ] || set -- --users 10000:10001 "$@"
# -P -s: a module of the repository (the working directory) or of the home folder must not stand in for ours.
# -E: nor one that a variable names.
exec /opt/slipway/bin/python -E -P -s -m agent_runtime.server --host 0.0.0.0 --port 8000 "$@"

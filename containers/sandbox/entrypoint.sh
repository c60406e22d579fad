#!/bin/sh
# Starts the agent server. Its session key comes in a file that is gone before any command of the agent runs:
# in the container's environment everybody inside could read it (/proc/1/environ).
set -eu
key_file=/workspace/.session-key
if [ -f "$key_file" ]; then
    OH_SESSION_API_KEYS_0=$(cat "$key_file")
    export OH_SESSION_API_KEYS_0
    rm -f "$key_file"
fi
# -P: a module of the repository (the working directory) must not stand in for one of ours.
exec /opt/slipway/bin/python -P -m agent_runtime.server --host 0.0.0.0 --port 8000

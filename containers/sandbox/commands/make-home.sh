#!/bin/sh
# At each start, as the agent: its home, its caches and an empty /tmp in the workspace. What is there stays.
# The caches are beside the home: archives hold the home alone.
set -eu
# Only the system's programs: those of the agent may be anything.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /workspace
rm -rf tmp
mkdir -p home cache tmp
chmod 700 home cache
chmod 1777 tmp
[ -e home/.cache ] || ln -sfn ../cache home/.cache
mkdir -p home/.local/bin
# A later image may have another Python: what is missing of its environment is added.
cp -a --no-clobber /opt/python-environment/. home/.venv
# uv looks for an environment in the directories above the one it is called in.
[ -e .venv ] || ln -sfn home/.venv .venv

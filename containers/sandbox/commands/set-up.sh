#!/bin/sh
# At the build of the image: home and /tmp become places in the workspace, and the tools are put where they are found.
# A base may be an image of ours, in which all of it has been done before.
set -eu
rm -rf /home/agent /tmp /opt/python-environment /opt/slipway/commands/bin
ln -s /workspace/home /home/agent
ln -s /workspace/tmp /tmp
install -d -m 1777 /workspace/tmp
install -d -m 700 -o 10001 -g "$(id -g agent)" /workspace/home /workspace/cache

# Copied into each home. It has no pip: that is the one in /opt/python-tools, as is uv.
/usr/bin/python3 -m venv --without-pip --system-site-packages /home/agent/.venv
mv /home/agent/.venv /opt/python-environment
site=$(echo /opt/python-environment/lib/python3*/site-packages)
printf '%s\n' /opt/python-tools /home/agent/.apt/root/usr/lib/python3/dist-packages > "$site/image.pth"
for name in pip pip3; do
    printf '#!/home/agent/.venv/bin/python3\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n' \
        > /opt/python-environment/bin/$name
done
chmod 755 /opt/python-environment/bin/pip*
chmod -R a+rX /opt/python-tools

# Beside npm itself, whichever the base has: a variable would disturb other managers of Node.
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
# npm reads ${HOME} by itself.
# shellcheck disable=SC2016
grep -qs '^prefix=${HOME}/.local$' "$npm/npmrc" ||
    printf 'prefix=${HOME}/.local\ncache=${HOME}/.cache/npm\n' >> "$npm/npmrc"

chmod 755 /opt/slipway/commands/apt.py /opt/slipway/commands/sudo
mkdir /opt/slipway/commands/bin
for name in apt apt-get apt-cache; do ln -s ../apt.py /opt/slipway/commands/bin/$name; done
ln -s ../sudo /opt/python-tools/bin/uv /opt/python-tools/bin/uvx /opt/slipway/commands/bin/

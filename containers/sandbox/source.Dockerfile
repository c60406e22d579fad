# A flavour with the agent server of this source: the one layer that every change of the code makes anew.
ARG DEPENDENCIES
FROM ${DEPENDENCIES}
# Its entrypoint, started as root, keeps the agent server and the agent apart (app_server/sandbox_backends/docker/hardening.py).
# Home and /tmp lie in the workspace, on disk; an image without this label gets memory for them.
LABEL slipway.users=two slipway.home=workspace
COPY containers/sandbox/entrypoint.sh /opt/slipway/bin/entrypoint
COPY containers/sandbox/chromium-policies.json /etc/chromium/policies/managed/slipway.json
COPY containers/sandbox/commands /opt/slipway/commands
COPY agent_runtime /opt/slipway/runtime/agent_runtime
RUN echo /opt/slipway/runtime > "$(echo /opt/slipway/lib/python3*/site-packages)/slipway.pth" \
 && chmod 755 /opt/slipway/bin/entrypoint \
 && /opt/slipway/bin/python -m compileall -q /opt/slipway/runtime
RUN sh /opt/slipway/commands/set-up.sh
# For commands of the agent alone: neither root nor the agent server looks for programs where the agent can write.
ENV OH_COMMAND_VARIABLES='{"PATH": "/home/agent/.venv/bin:/home/agent/.local/bin:/opt/slipway/commands/bin:/home/agent/.apt/root/usr/bin:/home/agent/.apt/root/usr/sbin:/home/agent/.apt/root/usr/games", \
    "LD_LIBRARY_PATH": "/home/agent/.apt/root/usr/lib/x86_64-linux-gnu:/home/agent/.apt/root/usr/lib/aarch64-linux-gnu:/home/agent/.apt/root/usr/lib", \
    "LIBRARY_PATH": "/home/agent/.apt/root/usr/lib/x86_64-linux-gnu:/home/agent/.apt/root/usr/lib/aarch64-linux-gnu:/home/agent/.apt/root/usr/lib", \
    "C_INCLUDE_PATH": "/home/agent/.apt/root/usr/include:/home/agent/.apt/root/usr/include/x86_64-linux-gnu:/home/agent/.apt/root/usr/include/aarch64-linux-gnu", \
    "CPLUS_INCLUDE_PATH": "/home/agent/.apt/root/usr/include:/home/agent/.apt/root/usr/include/x86_64-linux-gnu:/home/agent/.apt/root/usr/include/aarch64-linux-gnu", \
    "PKG_CONFIG_PATH": "/home/agent/.apt/root/usr/lib/x86_64-linux-gnu/pkgconfig:/home/agent/.apt/root/usr/lib/aarch64-linux-gnu/pkgconfig:/home/agent/.apt/root/usr/lib/pkgconfig:/home/agent/.apt/root/usr/share/pkgconfig", \
    "PERL5LIB": "/home/agent/.apt/root/usr/share/perl5"}'
USER agent

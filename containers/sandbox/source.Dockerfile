# A flavour with the agent server of this source: the one layer that every change of the code makes anew.
ARG DEPENDENCIES
FROM ${DEPENDENCIES}
COPY containers/sandbox/entrypoint.sh /opt/slipway/bin/entrypoint
COPY agent_runtime /opt/slipway/runtime/agent_runtime
RUN echo /opt/slipway/runtime > "$(echo /opt/slipway/lib/python3*/site-packages)/slipway.pth" \
 && chmod 755 /opt/slipway/bin/entrypoint \
 && /opt/slipway/bin/python -m compileall -q /opt/slipway/runtime
USER agent

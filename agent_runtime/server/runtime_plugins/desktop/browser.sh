#!/bin/sh
# The browser of the desktop. It makes no calls by itself: each one would be refused, and shown to people.
# The policies in the image switch off what has no option.
nobody=http://127.0.0.1:9
set -- --no-first-run --no-default-browser-check --disable-dev-shm-usage --disable-background-networking \
  --disable-breakpad --disable-client-side-phishing-detection --disable-component-update --disable-default-apps \
  --disable-domain-reliability --disable-sync --metrics-recording-only --no-pings --password-store=basic \
  --disable-features=Translate,MediaRouter,OptimizationHints,HttpsUpgrades,NetworkTimeServiceQuerying,AutofillServerCommunication \
  "--gaia-url=$nobody" "--component-updater=url-source=$nobody/" "$@"
# Chromium's own sandbox is refused in a container.
chromium "$@" || exec chromium "$@" --no-sandbox --test-type

#!/bin/sh
# Installs Debian's Chromium for the tests of reports, where that can be done. Elsewhere they are skipped, with a reason.
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "No Chromium, and it cannot be installed here: the tests in a browser are skipped."
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1; then
    echo "Chromium could not be installed: the tests in a browser are skipped."
fi

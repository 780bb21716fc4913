#!/bin/sh
set -e
[ -d /run/systemd/system ] && [ -z "${DPKG_ROOT:-}" ] || exit 0 # not into another root
systemctl daemon-reload
systemctl try-restart prober.service

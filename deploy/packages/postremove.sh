#!/bin/sh
set -e
if [ "$1" = purge ]; then rm -rf "${DPKG_ROOT:-}/etc/prober"; fi
if [ -d /run/systemd/system ] && [ -z "${DPKG_ROOT:-}" ]; then systemctl daemon-reload; fi

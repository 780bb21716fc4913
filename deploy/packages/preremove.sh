#!/bin/sh
# The argument is "remove" or "upgrade" with dpkg, and with rpm the number of versions that stay installed.
set -e
case $1 in remove | 0) if [ -d /run/systemd/system ] && [ -z "${DPKG_ROOT:-}" ]; then systemctl disable --now prober.service; fi ;; esac

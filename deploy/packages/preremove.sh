#!/bin/sh
# dpkg says remove or upgrade, rpm how many versions stay.
set -e
case $1 in remove | 0) if [ -d /run/systemd/system ] && [ -z "${DPKG_ROOT:-}" ]; then systemctl disable --now prober.service; fi ;; esac

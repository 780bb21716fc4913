#!/bin/sh
set -e
if [ "$1" = purge ]; then rm -rf /var/lib/private/prober /var/lib/prober; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

#!/bin/sh
# On an upgrade the running server goes on until the new one is there.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl stop onceward.service
fi

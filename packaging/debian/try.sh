#!/usr/bin/env bash
# Starts the Debian package under a real systemd, in a container of its own:
#   packaging/debian/try.sh PACKAGE.deb [ROOT]
# It has to become active by notify after the commands of docs/operating/install.md, reload, be started anew by the watchdog when
# it hangs, and drain. It needs root, mmdebstrap and systemd-container; ROOT is a
# Debian that is there already.
set -euo pipefail
deb=$(realpath "$1") root=${2:-}
work=$(mktemp -d)
guest=
finish() {
  if [ -n "$guest" ]; then nsenter -t "$guest" -a -- systemctl poweroff >/dev/null 2>&1 || true; wait || true; fi
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "$*" >&2; in_guest journalctl -u onceward --no-pager -n 30 >&2 || true; exit 1; }
in_guest() { nsenter -t "$guest" -a -- "$@"; }
shows() { in_guest systemctl show onceward -p "$1" --value; }
until_shows() { # until_shows PROPERTY VALUE: for at most a minute
  for _ in $(seq 120); do [ "$(shows "$1")" = "$2" ] && return; sleep 0.5; done
  fail "$1 is $(shows "$1"), not $2"
}

if [ -z "$root" ]; then
  root=$work/root
  mmdebstrap --variant=minbase --include=systemd,systemd-sysv,dbus bookworm "$root"
fi
cp "$deb" "$root/package.deb"
systemd-nspawn -q -D "$root" --register=no --keep-unit --private-network --machine=onceward-try -b >"$work/boot.log" 2>&1 &
nspawn=$!
for _ in $(seq 120); do
  guest=$(pgrep -P "$nspawn" | head -1 || true)
  [ -n "$guest" ] && in_guest systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded' && break
  sleep 0.5
done
[ -n "$guest" ] || { cat "$work/boot.log" >&2; exit 1; }

in_guest dpkg --purge onceward >/dev/null 2>&1 || true # a ROOT that was used before
in_guest dpkg -i /package.deb >/dev/null
commands=$(sed -n '/^```sh/,/^```$/{/^```/d;p}' "$root/usr/share/doc/onceward/install.md")
[ -n "$commands" ] || fail 'the package has no page with commands'
in_guest sh -ec "$commands" || fail 'it does not start'
until_shows ActiveState active
in_guest sh -c '
  mkdir -p /run/systemd/system/onceward.service.d
  printf "[Service]\nWatchdogSec=4s\n" >/run/systemd/system/onceward.service.d/hasty.conf
  systemctl daemon-reload
  systemctl restart onceward' || fail 'it does not start'
until_shows ActiveState active
shows StatusText | grep -q '^serving on ' || fail 'it does not tell its status'
in_guest systemctl reload onceward || fail 'it does not reload'
sleep 5 # longer than the watchdog waits
[ "$(shows NRestarts)" = 0 ] || fail 'it was started anew though it lives'
in_guest sh -c 'kill -STOP $(systemctl show onceward -p MainPID --value)'
until_shows NRestarts 1
until_shows ActiveState active
in_guest systemctl stop onceward
[ "$(shows Result)" = success ] || fail "it ended with $(shows Result)"
echo 'active by notify, reloaded, started anew by the watchdog, drained'

#!/usr/bin/env bash
# Builds the container image from scratch, without a daemon:
#   packaging/image/build.sh BINARY OUTPUT.tar
# It needs buildah. Two builds of one binary are equal to the byte.
set -euo pipefail
binary=$1 out=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v buildah >/dev/null || { echo 'buildah is missing; install it: apt-get install buildah' >&2; exit 3; }
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/context/data"
cp "$binary" "$work/context/onceward"
chmod 0755 "$work/context/onceward"
cp /etc/ssl/certs/ca-certificates.crt "$work/context/"
find "$work/context" -exec touch -d "@$epoch" {} +
run() { buildah --storage-driver vfs --root "$work/root" --runroot "$work/runroot" "$@"; }
run bud --isolation chroot --timestamp "$epoch" -f packaging/image/Containerfile -t onceward:release "$work/context" >&2
run push onceward:release "oci:$work/oci:onceward:release" >&2
tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -C "$work/oci" -cf "$out" .
if [ "${CHECK:-}" = yes ]; then # does it run?
  container=$(run from onceward:release)
  run run --isolation chroot "$container" -- /onceward version
  run run --isolation chroot "$container" -- /onceward migrate
  run run --isolation chroot "$container" -- /onceward doctor
fi

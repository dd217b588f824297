#!/usr/bin/env bash
# Builds a release twice, the second time from another folder with a build cache
# of its own, and compares every byte.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export VERSION=${VERSION:-0.0.0~reproduce}
packaging/release.sh "$work/first"
mkdir "$work/elsewhere"
git ls-files -z | xargs -0 cp --parents -t "$work/elsewhere"
GOCACHE=$work/cache bash "$work/elsewhere/packaging/release.sh" "$work/second"
diff -r "$work/first" "$work/second"
echo 'both are equal to the byte'

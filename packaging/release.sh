#!/usr/bin/env bash
# Builds what a release consists of, into dist/ or the folder that is given:
# the program for each system, a list of what is in it (CycloneDX), Debian
# packages, SHA256SUMS. Equal sources make equal bytes, wherever they lie.
#   packaging/release.sh [FOLDER]; TARGETS and VERSION narrow and name it.
set -euo pipefail
out=$(realpath -m "${1:-dist}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/toolchain.sh
go version
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null | sed 's/^v//')}
[[ $version =~ ^[0-9]+\. ]] || version=0.0.0~git$version
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
nfpm=${NFPM:-$(go env GOPATH)/bin/nfpm-v2.45.2/nfpm}

rm -rf "$out"
mkdir -p "$out"
go build -o "$out/.sbom" ./packaging/sbom
for target in $targets; do
  os=${target%/*} arch=${target#*/} suffix=
  [ "$os" = windows ] && suffix=.exe
  name=onceward_${version}_${os}_$arch
  echo "== $target"
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS= GOAMD64=v1 \
    go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$version" -o "$out/$name$suffix" ./cmd/onceward
  "$out/.sbom" -version "$version" "$out/$name$suffix" >"$out/$name.cdx.json"
  if [ "$os" = linux ]; then
    VERSION=$version ARCH=$arch BINARY=$out/$name "$nfpm" pkg -f packaging/debian/nfpm.yaml -p deb -t "$out/onceward_${version}_$arch.deb"
  fi
done
rm "$out/.sbom"
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
cat "$out/SHA256SUMS"

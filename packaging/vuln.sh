#!/usr/bin/env bash
# Looks for known vulnerabilities in what the program uses, standard library
# included, built with the Go of releases. The database is a module of a pinned
# version, so that a run needs only the module proxy and ends the same tomorrow;
# DB names a newer one. Exits 3 if there is one that the program reaches.
#   packaging/vuln.sh [PACKAGE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
db=${DB:-v0.0.0-20261105234957-e22db6528018} # golang.org/x/vulndb
check=v1.9.0                                 # golang.org/x/vuln
tools=$PWD/tools/vuln
mkdir -p "$tools"
if [ ! -d "$tools/db-$db" ]; then
  module=$(go mod download -json "golang.org/x/vulndb@$db" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  rm -rf "$tools/db.part"
  # It reads the folder as it lies in the module, and wants no module around it.
  (cd "$tools" && GOFLAGS=-mod=mod go run "golang.org/x/vulndb/cmd/indexdb@$db" -vulns "$module/data/osv" -out "$tools/db.part")
  mv "$tools/db.part" "$tools/db-$db"
fi
. packaging/toolchain.sh
# Built with the Go that it judges: an older one does not read a newer's packages.
bin=$tools/govulncheck-$check-$(go env GOVERSION)
[ -x "$bin" ] || { GOBIN=$tools go install "golang.org/x/vuln/cmd/govulncheck@$check" && mv "$tools/govulncheck" "$bin"; }
go version
CGO_ENABLED=0 "$bin" -db "file://$tools/db-$db" "${@:-./cmd/onceward}"

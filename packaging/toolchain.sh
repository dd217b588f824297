# Sourced: the Go that releases are built with and looked for vulnerabilities
# under. It is the newest for which make vuln finds nothing, which the Go of
# go.mod need not be: that one builds, and may be older than its fixes. The go
# command fetches it; GOTOOLCHAIN chooses another one.
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.27.3}

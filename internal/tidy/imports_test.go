package tidy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// direction is a row of the table of import directions. It governs the packages
// in and below a folder, unless a row further down the tree governs them; a
// folder "x/*" is a row of its own for each folder in x. Packages that one row
// governs may import one another.
type direction struct {
	folder string
	may    []string // packages of this module by folder, "." the root; "x/..." is all in and below x
	why    string
}

// Sets of folders that rows allow.
var (
	nothing    = []string{}
	root       = []string{"."}
	port       = []string{".", "store", "store/migration"}
	everything = []string{"./..."}
)

// directions is who may import whom. Tests are free: Go itself forbids circles,
// and a test wires what it tests. A package without a row gets one with a reason.
var directions = []direction{
	{".", nothing, "the vocabulary and the rules of the business know nobody"},
	{"contract", []string{".", "internal/webhook"}, "the language is compiled into the root's terms; what senders sign is its matter, too"},
	{"store", root, "what the stores share knows the port, not the stores"},
	{"store/migration", []string{".", "store"}, "steps and checksums are the same in each dialect"},
	{"store/memory", port, "a store knows the port and no other store"},
	{"store/sqlite", port, "a store knows the port and no other store"},
	{"store/postgres", port, "a store knows the port and no other store"},
	{"store/sealed", port, "it stands in front of any store and knows none"},
	{"store/storetest", []string{".", "store"}, "the suite knows the port, so that every store can run it"},
	{"provider", root, "a provider knows the port and no other provider"},
	{"provider/httpcall", root, "a provider knows the port and no other provider"},
	{"provider/mcpcall", root, "a provider knows the port and no other provider"},
	{"provider/providertest", root, "the suite knows the port, so that every provider can run it"},
	{"committer", root, "it stands between the ledger and any store"},
	{"worker", root, "loops step the ledger and know none of its surroundings"},
	{"relay", root, "it hands on what the outbox holds, and knows no destination"},
	{"relay/webhook", []string{".", "relay"}, "a destination knows the relay and no other destination"},
	{"relay/watermill", []string{".", "relay"}, "a destination knows the relay and no other destination"},
	{"relay/*", []string{".", "relay", "relay/watermill"}, "a broker is reached by Watermill, and knows no other broker"},
	{"oncewardtest", root, "embedders get the root's fakes and nothing else"},
	{"catalog", []string{".", "contract"}, "contracts for real providers, and what loads them"},
	{"internal/*", root, "an inner package knows the root and no other inner package"},
	{"internal/proxy", []string{".", "contract"}, "contracts say what a request means, and whoever serves it says who asks"},
	{"internal/crashpoint", nothing, "anybody may name a crash point, so it knows nobody"},
	{"internal/webhook", nothing, "a signature is bytes, a secret and a time, so it knows nobody"},
	{"internal/notify", nothing, "how a process is says nothing of what it does"},
	{"internal/freeport", nothing, "whoever tells a program where to listen may use it, so it knows nobody"},
	{"internal/testneed", nothing, "any test may use it, so it knows nobody"},
	{"internal/testoidc", nothing, "any test may use it, so it knows nothing that a test could be about"},
	{"internal/testdb", []string{"internal/freeport", "internal/testneed"}, "any test may use it, so it knows nothing that a test could be about"},
	{"internal/testledger", []string{"internal/testdb", "store/postgres"}, "it makes a ledger's tables, and knows no test"},
	{"internal/testbroker", []string{"internal/freeport", "internal/testneed"}, "any test may use it, so it knows nothing that a test could be about"},
	{"internal/faultproxy", nothing, "faults are put between two that do not know of it"},
	{"internal/simprovider", nothing, "the judge of effects must not share code with the judged"},
	{"internal/sim", nothing, "the judge of effects must not share code with the judged"},
	{"internal/linear", nothing, "the judge of claims must not share code with the judged"},
	{"internal/proctest", []string{".", "internal/freeport", "internal/simprovider"}, "it runs the built program against the provider, as processes"},
	{"internal/drill", []string{".", "contract", "internal/faultproxy"}, "it puts faults between the program and a provider, and asks the contract what there is"},
	{"internal/rig", []string{".", "committer", "worker"}, "it wires a ledger on whatever store it is given"},
	{"internal/enginetest", []string{".", "internal/rig", "provider/httpcall", "store/sqlite"}, "it is a ledger for the tests of wrappers, and knows no engine"},
	{"internal/tidy", nothing, "it reads the others and runs none of them"},
	{"integrations/*", root, "an engine's wrapper knows the ledger and no other engine"},
	{"cmd/onceward", everything, "it wires"},
	{"packaging", nothing, "it packs what is built and knows none of it"},
	{"examples", everything, "an example wires as its reader will"},
	{"bench", everything, "a measurement wires what it measures"},
}

// importableByAll are named exceptions to the table, for every row but the root's.
var importableByAll = map[string]string{
	"internal/crashpoint": "the order of an attempt is marked wherever its steps are done",
}

// stores are the packages that only those who wire may name.
var stores = []string{"store/memory", "store/sqlite", "store/postgres"}

// testOnly are packages for tests; a program that is not a test needs none.
var testOnly = []string{"store/storetest", "provider/providertest", "oncewardtest", "internal/testdb", "internal/testledger", "internal/testbroker", "internal/testneed", "internal/testoidc", "internal/proctest", "internal/enginetest", "internal/tidy", "internal/linear"}

// rowOf finds the row that governs a package, the one furthest down the tree.
// The root's row governs the root alone.
func rowOf(dir string) (direction, bool) {
	for at := dir; at != "."; at = path.Dir(at) {
		for _, row := range directions {
			if row.folder == at {
				return row, true
			}
		}
		for _, row := range directions {
			if matched, err := path.Match(row.folder, at); err == nil && matched {
				row.folder = at
				return row, true
			}
		}
	}
	return directions[0], dir == "."
}

// allows reports whether a package under the row may import another of ours.
func (row direction) allows(target string) bool {
	if _, ok := importableByAll[target]; ok {
		return row.folder != "."
	}
	if own, ok := rowOf(target); ok && own.folder == row.folder {
		return true
	}
	return slices.ContainsFunc(row.may, func(allowed string) bool {
		folder, all := strings.CutSuffix(allowed, "/...")
		return target == folder || (all && (folder == "." || under(target, folder)))
	})
}

// isStandard reports whether an import path is the standard library's: the
// first element of any other has a dot, being a host.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".") && importPath != "C"
}

// ours returns the folder of an import of this module.
func ours(importPath string) (folder string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

var importDirections = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		for _, s := range sources {
			if s.test {
				continue
			}
			row, ok := rowOf(s.dir)
			if !ok {
				complaints = append(complaints, fmt.Sprintf("%s: the package has no row in the table of directions", s.name))
				continue
			}
			for importPath, node := range s.imports() {
				if why := refusal(row, importPath); why != "" {
					complaints = append(complaints, fmt.Sprintf("%s: %s imports %s: %s", s.at(node), s.dir, importPath, why))
				}
			}
		}
		return complaints
	},
	broken: tree{
		"a.go":                        `package onceward; import _ "github.com/jackc/pgx/v5"`,
		"b.go":                        `package onceward; import _ "github.com/onceward/onceward/internal/crashpoint"`,
		"c.go":                        `package onceward; import "C"`,
		"store/shared.go":             `package store; import _ "github.com/onceward/onceward/store/memory"`,
		"store/memory/a.go":           `package memory; import _ "github.com/onceward/onceward/store/sqlite"`,
		"store/sqlite/migration/a.go": `package migration; import _ "github.com/onceward/onceward/contract"`,
		"worker/reconcile.go":         `package worker; import _ "github.com/onceward/onceward/store/postgres"`,
		"internal/httpapi/a.go":       `package httpapi; import _ "github.com/onceward/onceward/internal/auth"`,
		"internal/testdb/a.go":        `package testdb; import _ "github.com/onceward/onceward"`,
		"cmd/onceward/serve.go":       `package main; import _ "github.com/onceward/onceward/store/storetest"`,
		"cmd/onceward/broken.go":      `package`,
		"novelty/a.go":                `package novelty`,
		"novelty/a_test.go":           `package novelty`,
	},
	wants: []string{
		"a.go:1: . imports github.com/jackc/pgx/v5: the root imports only the standard library",
		"b.go:1: . imports github.com/onceward/onceward/internal/crashpoint",
		"c.go:1: . imports C",
		"store/shared.go:1: store imports",
		"store/memory/a.go:1: store/memory imports github.com/onceward/onceward/store/sqlite",
		"store/sqlite/migration/a.go:1: store/sqlite/migration imports github.com/onceward/onceward/contract",
		"worker/reconcile.go:1: worker imports",
		"internal/httpapi/a.go:1: internal/httpapi imports",
		"internal/testdb/a.go:1: internal/testdb imports github.com/onceward/onceward",
		"cmd/onceward/serve.go:1: cmd/onceward imports github.com/onceward/onceward/store/storetest: it is for tests",
		"cmd/onceward/broken.go:1",
		"novelty/a.go: the package has no row",
	},
	kept: tree{
		"a.go":                        `package onceward; import _ "crypto/sha256"`,
		"a_test.go":                   `package onceward_test; import _ "github.com/onceward/onceward/store/memory"`,
		"store/sqlite/a.go":           `package sqlite; import (_ "github.com/onceward/onceward"; _ "github.com/onceward/onceward/store"; _ "github.com/onceward/onceward/store/sqlite/migration")`,
		"store/sqlite/migration/a.go": `package migration; import _ "embed"`,
		"worker/a.go":                 `package worker; import _ "github.com/onceward/onceward/internal/crashpoint"`,
		"internal/broker/a.go":        `package webhook; import (_ "github.com/onceward/onceward"; _ "github.com/onceward/onceward/internal/broker/stripe")`,
		"internal/testdb/cmd/a.go":    `package main; import _ "github.com/onceward/onceward/internal/testdb"`,
		"cmd/onceward/serve.go":       `package main; import (_ "github.com/onceward/onceward/store/postgres"; _ "github.com/spf13/cobra")`,
	},
}

// refusal is why a package under the row may not import the path; empty if it may.
func refusal(row direction, importPath string) string {
	if isStandard(importPath) {
		return ""
	}
	target, isOurs := ours(importPath)
	switch {
	case importPath == "C":
		return "the binary is built without cgo"
	case !isOurs && row.folder == ".":
		return "the root imports only the standard library"
	case !isOurs:
		return ""
	case slices.ContainsFunc(testOnly, func(folder string) bool { return under(target, folder) && !slices.Contains(testOnly, row.folder) }):
		return "it is for tests"
	case row.allows(target):
		return ""
	case slices.ContainsFunc(stores, func(folder string) bool { return under(target, folder) }):
		return "only cmd/onceward names a concrete store (" + row.why + ")"
	default:
		return row.why
	}
}

// home is a dependency and the folders whose packages may name it, tests apart.
type home struct {
	dependency string
	folders    []string
	why        string
}

// homes keep what could seep everywhere in one place.
var homes = []home{
	{"github.com/jackc/pgx/v5", []string{"store/postgres", "internal/testdb", "bench"}, "only its store speaks PostgreSQL"},
	{"database/sql", []string{"store", "bench"}, "only stores speak SQL"},
	{"zombiezen.com/go/sqlite", []string{"store/sqlite", "bench"}, "only its store speaks SQLite"},
	{"modernc.org/sqlite", []string{"store/sqlite", "bench"}, "only its store speaks SQLite"},
	{"github.com/ncruces/go-sqlite3", []string{"store/sqlite", "bench"}, "only its store speaks SQLite"},
	{"github.com/anishathalye/porcupine", []string{"internal/linear"}, "the checker's terms stay with the register"},
	{"cel.dev/cel-go", []string{"contract"}, "only the language of contracts knows how its expressions are run"},
	{"github.com/santhosh-tekuri/jsonschema/v6", []string{"contract"}, "schemas are compiled and shown by the contract that has them"},
	{"github.com/goccy/go-yaml", []string{"contract", "cmd"}, "contracts and the program's own configuration are YAML, nothing else is"},
	{"golang.org/x/text", []string{"contract", "provider/httpcall"}, "text is normalised where it comes in, and host names where they go out"},
	{"github.com/coreos/go-oidc/v3", []string{"internal/auth"}, "only signing in speaks OpenID"},
	{"golang.org/x/oauth2", []string{"internal/auth"}, "only signing in speaks OAuth"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/mcpgateway", "provider/mcpcall", "bench"}, "only the gateway and the provider behind it speak MCP"},
	{"github.com/prometheus", []string{"internal/telemetry"}, "only the exporter knows how metrics are read"},
	{"go.opentelemetry.io", []string{"internal/telemetry"}, "only the exporter knows how spans are sent"},
	{"github.com/ThreeDotsLabs", []string{"relay"}, "only relays and consumers speak to brokers"},
	{"github.com/nats-io", []string{"relay/nats", "internal/testbroker"}, "only its relay speaks to NATS"},
	{"github.com/rabbitmq", []string{"relay/rabbitmq"}, "only its relay speaks to RabbitMQ"},
	{"github.com/IBM/sarama", []string{"relay/kafka"}, "only its relay speaks to Kafka"},
	{"github.com/twmb", []string{"internal/testbroker"}, "only the brokers of tests speak for Kafka"},
	{"github.com/spf13/cobra", []string{"cmd"}, "only commands know how commands are parsed"},
	{"testing", []string{"store/storetest", "provider/providertest", "oncewardtest", "internal/testdb", "internal/testledger", "internal/testbroker", "internal/testneed", "internal/testoidc", "internal/proctest", "internal/enginetest"}, "testing does not belong into a program"},
}

var dependencyHomes = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		for _, s := range sources {
			if s.test {
				continue
			}
			for importPath, node := range s.imports() {
				for _, h := range homes {
					isHome := slices.ContainsFunc(h.folders, func(folder string) bool { return under(s.dir, folder) })
					if under(importPath, h.dependency) && !isHome {
						complaints = append(complaints, fmt.Sprintf("%s: %s imports %s: %s", s.at(node), s.dir, importPath, h.why))
					}
				}
			}
		}
		return complaints
	},
	broken: tree{
		"worker/a.go":              `package worker; import _ "github.com/jackc/pgx/v5/pgxpool"`,
		"internal/httpapi/list.go": `package httpapi; import _ "database/sql"`,
		"ledger.go":                `package onceward; import _ "testing"`,
		"worker/b.go":              `package worker; import _ "cel.dev/cel-go/common/types"`,
		"cmd/onceward/lint.go":     `package main; import _ "github.com/santhosh-tekuri/jsonschema/v6/kind"`,
		"internal/httpapi/yaml.go": `package httpapi; import _ "github.com/goccy/go-yaml"`,
		"store/sqlite/fold.go":     `package sqlite; import _ "golang.org/x/text/cases"`,
	},
	wants: []string{"worker/a.go:1", "internal/httpapi/list.go:1", "ledger.go:1", "worker/b.go:1", "cmd/onceward/lint.go:1", "internal/httpapi/yaml.go:1", "store/sqlite/fold.go:1"},
	kept: tree{
		"store/postgres/a.go":   `package postgres; import _ "github.com/jackc/pgx/v5/pgxpool"`,
		"worker/a_test.go":      `package worker; import (_ "github.com/jackc/pgx/v5"; _ "testing")`,
		"store/storetest/a.go":  `package storetest; import _ "testing"`,
		"cmd/onceward/serve.go": `package main; import _ "github.com/spf13/cobra"`,
	},
}

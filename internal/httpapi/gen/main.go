// Command gen writes what is made from the API's own tables: the golden OpenAPI
// document and the reference pages of routes and codes. It runs in the folder
// internal/httpapi, by go generate; a test compares the files with what it
// would write.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/onceward/onceward/internal/httpapi"
)

// generated are the files, by their path from internal/httpapi.
func generated() map[string][]byte {
	document := httpapi.OpenAPI()
	return map[string][]byte{
		"testdata/openapi.json":          document,
		"../../docs/reference/http.md":   httpPage(document),
		"../../docs/reference/errors.md": errorsPage(),

		"../../clients/typescript/src/api.ts": typescript(document),
	}
}

func main() {
	for path, content := range generated() {
		if err := write(path, content); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %v\n", err)
			os.Exit(1)
		}
	}
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

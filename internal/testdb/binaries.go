package testdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// EnvBinaries names the folder in which initdb and postgres are looked for,
// and the only one. Empty: PATH first, then the folders where packages put
// them, newest version first.
const EnvBinaries = "ONCEWARD_POSTGRES_BIN"

// ErrNoBinaries means that this machine has no PostgreSQL server programs. Its
// text says what to install.
var ErrNoBinaries = errors.New("PostgreSQL's server programs (initdb, postgres) are not installed: " +
	"install them (Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; " +
	"macOS: brew install postgresql), or name their folder in " + EnvBinaries)

// packageFolders are where distributions keep the server programs, which few
// of them put into PATH: Debian, PGDG's RPMs, Homebrew (both its roots).
var packageFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// binaries are the server programs of one PostgreSQL installation, absolute.
type binaries struct {
	initdb   string
	postgres string
}

// findBinaries returns the server programs to use, or ErrNoBinaries. A folder
// given as only (see EnvBinaries) is the one place looked at.
func findBinaries(only string) (binaries, error) {
	if only != "" {
		if found, ok := binariesIn(only); ok {
			return found, nil
		}
		return binaries{}, fmt.Errorf("find PostgreSQL in %s=%s: %w", EnvBinaries, only, ErrNoBinaries)
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// Why: a link in PATH leads to the folder that holds both programs.
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			initdb = real
		}
		if found, ok := binariesIn(filepath.Dir(initdb)); ok {
			return found, nil
		}
	}
	for _, folder := range newestFirst(packageFolders) {
		if found, ok := binariesIn(folder); ok {
			return found, nil
		}
	}
	return binaries{}, ErrNoBinaries
}

// binariesIn reports whether the folder holds both server programs.
func binariesIn(folder string) (binaries, bool) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return binaries{}, false
	}
	found := binaries{initdb: filepath.Join(folder, "initdb"), postgres: filepath.Join(folder, "postgres")}
	for _, program := range []string{found.initdb, found.postgres} {
		if info, err := os.Stat(program); err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return binaries{}, false
		}
	}
	return found, true
}

// newestFirst expands the patterns and sorts what exists by the version number
// in its path, highest first, so that 16 comes before 9.
func newestFirst(patterns []string) []string {
	var folders []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			panic(fmt.Sprintf("testdb: pattern %q: %v", pattern, err)) // a constant of this file is wrong
		}
		folders = append(folders, matches...)
	}
	slices.SortStableFunc(folders, func(a, b string) int { return versionIn(b) - versionIn(a) })
	return folders
}

// versionIn is the last run of digits in a path; 0 when there is none.
func versionIn(path string) int {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	runs := strings.FieldsFunc(path, func(r rune) bool { return !isDigit(r) })
	if len(runs) == 0 {
		return 0
	}
	version, err := strconv.Atoi(runs[len(runs)-1])
	if err != nil {
		return 0
	}
	return version
}

// Folder is where PostgreSQL's server programs are, with those that packages do
// not put into PATH. Without them the test is skipped, or fails, as by Installed.
func Folder(tb testing.TB) string {
	tb.Helper()
	Installed(tb)
	found, err := findBinaries(os.Getenv(EnvBinaries))
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Dir(found.postgres)
}

package postgres

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// FuzzConnectionString holds that no connection string makes its reader panic,
// and that the refusal of one quotes nothing of it.
func FuzzConnectionString(f *testing.F) {
	for _, seed := range []string{"postgres://u:PASS-secret-WORD@h:5432/d?sslmode=disable", "postgres://u:PASS-secret-WORD@h:port/d", "postgres://u:%zzPASS-secret-WORD@h/d", "host=h password=PASS-secret-WORD port=x", "postgres://u:PASS-secret-WORD@h/d?connect_timeout=-1&sslmode=never", "postgres://[::1", "password='PASS-secret-WORD"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if strings.Contains(dsn, "file") || strings.Contains(dsn, "cert") || strings.Contains(dsn, "key") || strings.Contains(dsn, "service") {
			return // names files, which the driver reads
		}
		_, err := newStore(dsn, Options{})
		if err != nil && (!onceward.Is(err, onceward.CodeConfigInvalid) || strings.Contains(err.Error(), "secret-WORD")) {
			t.Fatalf("%q is refused with %v", dsn, err)
		}
	})
}

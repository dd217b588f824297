package contract

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// DefaultByteTail is how long bytes of a request may outlive its lease in the
// kernel where nothing bounds them.
const DefaultByteTail = 15 * time.Minute

// NoByteTail says that the sender bounds the life of its bytes by the lease.
const NoByteTail time.Duration = -1

// secretBytesMax is the longest secret that is read, in bytes.
const secretBytesMax = 16 << 10

// Options are what a load takes from its surroundings. The zero value reads the
// process's environment.
type Options struct {
	// Env looks up ${env.NAME}, at load only; nil is os.LookupEnv.
	Env func(name string) (value string, ok bool)
	// Secrets looks up ${secret.NAME}: once at load, to name what is missing, and
	// again at every send, so that a rotated secret needs no restart. Its errors
	// must not hold the value. nil is SecretsFrom(Env, "").
	Secrets func(name string) (value string, err error)
	// StandIns lets a load go on where a variable or a secret is missing: Lint
	// finds it, and a value that stands in lets the rest be checked. It is for
	// looking at files away from where they are served; a tool that was loaded so
	// must not send anything.
	StandIns bool
	// Held is what a proxy holds of requests under way, for the tools of upstreams;
	// nil: nothing is held here.
	Held Held
	// ByteTail is how long bytes may outlive the lease; 0 is DefaultByteTail,
	// NoByteTail is none.
	ByteTail time.Duration
}

func (o Options) withDefaults() Options {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.Secrets == nil {
		o.Secrets = SecretsFrom(o.Env, "")
	}
	switch o.ByteTail {
	case 0:
		o.ByteTail = DefaultByteTail
	case NoByteTail:
		o.ByteTail = 0
	}
	return o
}

// SecretsFrom looks a secret up as a file named NAME in the folder dir (if dir
// is not empty), then as the file that the variable NAME_FILE names, then as the
// variable NAME. One line break at the end of a file is dropped. Files are read
// anew each time.
func SecretsFrom(env func(name string) (value string, ok bool), dir string) func(name string) (string, error) {
	return func(name string) (string, error) {
		if dir != "" {
			value, err := readSecret(dir + "/" + name)
			if err == nil || !errors.Is(err, os.ErrNotExist) {
				return value, err
			}
		}
		if path, ok := env(name + "_FILE"); ok {
			return readSecret(path)
		}
		if value, ok := env(name); ok {
			return value, nil
		}
		return "", fmt.Errorf("neither %s nor %s_FILE is set", name, name)
	}
}

// readSecret reads a secret file. Its errors name the reason, not the content.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read secret file: %w", err)
	}
	if info.Size() > secretBytesMax {
		return "", fmt.Errorf("secret file is longer than %d bytes", secretBytesMax)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret file: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

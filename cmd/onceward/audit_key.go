package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// auditConfig is how the audit trail is signed and kept.
type auditConfig struct {
	Key string `yaml:"key"` // env:NAME or file:PATH; empty: nothing is signed
}

// keepConfig is how long what belongs to no contract is kept.
type keepConfig struct {
	Audit  time.Duration `yaml:"audit"`  // 0: for ever
	Runs   time.Duration `yaml:"runs"`   // finished ones, with their decisions; 0: for ever
	Export string        `yaml:"export"` // folder that records go to before they are deleted; empty: nowhere
}

// keyBytesMax is the longest text of a key.
const keyBytesMax = 16 << 10

// readKeyText reads what a reference points to. Errors name the reference, never
// what it holds. A file with a secret key is its owner's alone.
func readKeyText(ref string, secret bool) ([]byte, error) {
	kind, name, found := strings.Cut(ref, ":")
	switch {
	case found && kind == "env":
		if v, there := os.LookupEnv(name); there {
			return []byte(v), nil
		}
		return nil, keyError("the variable "+name+" is not set", nil)
	case found && kind == "file":
		if info, err := os.Stat(name); err == nil && secret {
			if why := othersRead(name, info); why != "" {
				return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read audit key", Message: why + ", and whoever can read the key can sign another trail", Hint: "chmod 600 " + name}
			}
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, keyError("the file "+name+" cannot be read", err)
		}
		if len(b) > keyBytesMax {
			return nil, keyError("the file "+name+" is too long for a key", nil)
		}
		return b, nil
	}
	return nil, keyError("a key is named as env:NAME or file:PATH", nil)
}

func keyError(message string, cause error) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read audit key", Message: message, Err: cause,
		Hint: "openssl genpkey -algorithm ed25519 -out audit.pem makes one; openssl pkey -in audit.pem -pubout -out audit.pub its public part"}
}

// auditSigner reads the key that signs; nil without one.
func auditSigner(ref string) (ed25519.PrivateKey, error) {
	if ref == "" {
		return nil, nil
	}
	text, err := readKeyText(ref, true)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if k, ok := key.(ed25519.PrivateKey); ok {
				return k, nil
			}
		}
	} else if seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text))); err == nil && len(seed) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(seed), nil
	}
	return nil, keyError("it is neither an Ed25519 key in PKCS#8 PEM nor 32 bytes in base64", nil)
}

// auditPublicKey reads the key that a verification demands: a reference, a path,
// or the key itself in base64; nil without one.
func auditPublicKey(arg string) (ed25519.PublicKey, error) {
	if arg == "" {
		return nil, nil
	}
	text := []byte(arg)
	if raw, err := base64.StdEncoding.DecodeString(arg); err != nil || len(raw) != ed25519.PublicKeySize {
		if !strings.HasPrefix(arg, "env:") && !strings.HasPrefix(arg, "file:") {
			arg = "file:" + arg
		}
		if text, err = readKeyText(arg, false); err != nil {
			return nil, err
		}
	}
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if k, ok := key.(ed25519.PublicKey); ok {
				return k, nil
			}
		}
	} else if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text))); err == nil && len(raw) == ed25519.PublicKeySize {
		return raw, nil
	}
	return nil, keyError("it is neither an Ed25519 public key in PEM nor 32 bytes in base64", nil)
}

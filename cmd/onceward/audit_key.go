package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"time"
)

// auditConfig is how the audit trail is signed and kept.
type auditConfig struct {
	Key string `yaml:"key"` // env:NAME or file:PATH; empty: nothing is signed
}

// keepConfig is how long what belongs to no contract is kept.
type keepConfig struct {
	Audit time.Duration `yaml:"audit"` // 0: for ever
	Runs  time.Duration `yaml:"runs"`  // finished ones, with their decisions; 0: for ever

	Documents time.Duration `yaml:"documents"` // that no kept operation names; 0: for ever
	Replays   time.Duration `yaml:"replays"`   // bulk replays that ended; 0: for ever
	Export    string        `yaml:"export"`    // folder that records go to before they are deleted; empty: nowhere
}

// auditKey is how the key that signs is read; of auditPublic others may know.
var (
	auditKey    = keyText{op: "read audit key", risk: "can sign another trail", hint: auditKeyHint}
	auditPublic = keyText{op: "read audit key", hint: auditKeyHint}
)

const auditKeyHint = "openssl genpkey -algorithm ed25519 -out audit.pem makes one; openssl pkey -in audit.pem -pubout -out audit.pub its public part"

// auditSigner reads the key that signs; nil without one.
func auditSigner(ref string) (ed25519.PrivateKey, error) {
	if ref == "" {
		return nil, nil
	}
	text, err := auditKey.read(ref)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if k, ok := key.(ed25519.PrivateKey); ok {
				return k, nil
			}
		}
	} else if seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && len(seed) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(seed), nil
	}
	return nil, auditKey.refuse("it is neither an Ed25519 key in PKCS#8 PEM nor 32 bytes in base64", nil)
}

// auditPublicKey reads the key that a verification demands: a reference, a path,
// or the key itself in base64; nil without one.
func auditPublicKey(arg string) (ed25519.PublicKey, error) {
	if arg == "" {
		return nil, nil
	}
	text := arg
	if raw, err := base64.StdEncoding.DecodeString(arg); err != nil || len(raw) != ed25519.PublicKeySize {
		if !strings.HasPrefix(arg, "env:") && !strings.HasPrefix(arg, "file:") {
			arg = "file:" + arg
		}
		if text, err = auditPublic.read(arg); err != nil {
			return nil, err
		}
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if k, ok := key.(ed25519.PublicKey); ok {
				return k, nil
			}
		}
	} else if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && len(raw) == ed25519.PublicKeySize {
		return raw, nil
	}
	return nil, auditPublic.refuse("it is neither an Ed25519 public key in PEM nor 32 bytes in base64", nil)
}

package sealed

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/onceward/onceward"
)

// masterBytes is the length of a master key and of a data key: AES-256.
const masterBytes = 32

// KeyRing is the master keys of a process: the first of them wraps data keys, all
// of them unwrap.
type KeyRing struct{ keys []master }

type master struct {
	name string // "mk_" and the first 8 bytes of a hash of it: names the key, tells nothing of it
	aead cipher.AEAD
}

// NewMasterKey returns a new master key as a line of a key file.
func NewMasterKey() string {
	b := make([]byte, masterBytes)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return base64.StdEncoding.EncodeToString(b)
}

// ParseKeyRing reads a key file: one key a line in base64, the first of them
// wraps; what follows # is a comment. CodeConfigInvalid: a line is no key of 32
// bytes, one stands twice, or there is none. No error holds any of it.
func ParseKeyRing(text string) (*KeyRing, error) {
	ring := &KeyRing{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != masterBytes {
			return nil, wrongKeys("line %d is no key of %d bytes in base64", n, masterBytes)
		}
		m := master{name: masterName(key)}
		if m.aead, err = newAEAD(key); err != nil {
			return nil, wrongKeys("line %d cannot be used", n)
		}
		if ring.find(m.name) != nil {
			return nil, wrongKeys("line %d is a key that stands above already", n)
		}
		ring.keys = append(ring.keys, m)
	}
	if lines.Err() != nil {
		return nil, wrongKeys("a line is too long")
	}
	if len(ring.keys) == 0 {
		return nil, wrongKeys("there is no key")
	}
	return ring, nil
}

func wrongKeys(format string, args ...any) error {
	e := onceward.Errorf(onceward.CodeConfigInvalid, format, args...)
	e.Op, e.Hint = "read master keys", "one key a line, as onceward key new prints it; the first wraps"
	return e
}

func masterName(key []byte) string {
	sum := sha256.Sum256(append([]byte("onceward/master-key/v1\n"), key...))
	return "mk_" + hex.EncodeToString(sum[:8])
}

// Names names the keys, in their order.
func (r *KeyRing) Names() []string {
	if r == nil {
		return nil
	}
	names := make([]string, len(r.keys))
	for i := range r.keys {
		names[i] = r.keys[i].name
	}
	return names
}

func (r *KeyRing) find(name string) *master {
	if r == nil {
		return nil
	}
	for i := range r.keys {
		if r.keys[i].name == name {
			return &r.keys[i]
		}
	}
	return nil
}

// wrap encrypts a data key with the first master key.
func (r *KeyRing) wrap(k *onceward.DataKey, key []byte) error {
	if r == nil || len(r.keys) == 0 {
		return missing("there is no master key")
	}
	m := &r.keys[0]
	k.Master, k.Wrapped = m.name, m.aead.Seal(nil, nil, key, identity(k))
	return nil
}

// unwrap decrypts a data key.
func (r *KeyRing) unwrap(k *onceward.DataKey) ([]byte, error) {
	m := r.find(k.Master)
	if m == nil {
		return nil, missing("data key " + k.ID.String() + " is wrapped by master key " + k.Master + ", which is not among the master keys")
	}
	key, err := m.aead.Open(nil, nil, k.Wrapped, identity(k))
	if err != nil || len(key) != masterBytes {
		return nil, &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "unwrap data key", Message: "data key " + k.ID.String() + " was altered", Hint: "restore the database from a backup"}
	}
	return key, nil
}

func missing(message string) error {
	return &onceward.Error{Code: onceward.CodeKeysMissing, Op: "encrypt", Message: message, Hint: "give serve the key file with --keys; onceward key new makes a key"}
}

// identity is what a wrapped key is bound to: it unwraps for nobody else.
func identity(k *onceward.DataKey) []byte {
	b := append([]byte("onceward/data-key/v1\n"), k.ID[:]...)
	b = append(append(b, k.Tenant...), 0)
	return append(b, k.Subject...)
}

// newAEAD is AES-256-GCM that draws its own nonces and puts them first.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

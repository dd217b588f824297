package sealed

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/onceward/onceward"
)

// envelopeFormat is the first byte of an envelope: format, ID of the data key,
// nonce and ciphertext. No JSON begins with it.
const envelopeFormat = 1

const envelopeHead = 1 + len(onceward.DataKeyID{})

// keyOf names the data key of an envelope.
func keyOf(envelope []byte) (id onceward.DataKeyID, ok bool) {
	if len(envelope) < envelopeHead || envelope[0] != envelopeFormat {
		return id, false
	}
	return onceward.DataKeyID(envelope[1:envelopeHead]), true
}

// seal encrypts a plaintext under a key that is derived for its purpose, and
// binds it to that.
func seal(id onceward.DataKeyID, key []byte, purpose string, plain []byte) ([]byte, error) {
	derived, err := derive(key, purpose)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(derived)
	if err != nil {
		return nil, err
	}
	head := append([]byte{envelopeFormat}, id[:]...)
	return aead.Seal(slices.Grow(head, len(plain)+aead.Overhead()), nil, plain, []byte(purpose)), nil
}

// open decrypts what seal made; false: it was altered, or is another purpose's.
func open(key []byte, purpose string, envelope []byte) ([]byte, bool) {
	derived, err := derive(key, purpose)
	if err != nil {
		return nil, false
	}
	aead, err := newAEAD(derived)
	if err != nil {
		return nil, false
	}
	plain, err := aead.Open(nil, nil, envelope[envelopeHead:], []byte(purpose))
	return plain, err == nil
}

func derive(key []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, purpose, masterBytes)
}

// The purposes of keys.
func rowPurpose(op *onceward.Operation) string {
	return "onceward/operation/v1\n" + op.ID.String() + "\n" + hex.EncodeToString(binary.AppendUvarint(nil, uint64(op.Generation)))
}

func recordPurpose(id onceward.OperationID) string { return "onceward/record/v1\n" + id.String() }

func documentPurpose(d *onceward.Document) string {
	return "onceward/document/v1\n" + string(d.Tenant) + "\n" + d.Digest.String()
}

func corrupt(id onceward.OperationID, message string) error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "decrypt operation", OperationID: id, Message: message, Hint: "restore the database from a backup; the other operations are not affected"}
}

func corruptRow(noun, id string) error {
	return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "decrypt " + noun, Message: "what is encrypted of " + id + " was altered", Hint: "restore the database from a backup; the other rows are not affected"}
}

// blind is what makes the digest of a showing unguessable.
func blind(key []byte, op *onceward.Operation) string {
	return hex.EncodeToString(mac(key, "onceward/blind/v1\n"+rowPurpose(op))[:16])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum(nil)
}

// digestRounds make the permutation one that nobody can tell from chance (Luby
// and Rackoff: four are enough).
const digestRounds = 4

// hideDigest encrypts the digest of an input: 32 bytes stay 32 bytes, and equal
// ones of one purpose stay equal. Why: who has the database could else try
// inputs against it, also of a subject that was shredded.
func hideDigest(key []byte, purpose string, d onceward.Digest) onceward.Digest {
	left, right := [16]byte(d[:16]), [16]byte(d[16:])
	for round := range digestRounds {
		left, right = right, mixed(key, purpose, round, right, left)
	}
	return joined(left, right)
}

// showDigest is the way back.
func showDigest(key []byte, purpose string, d onceward.Digest) onceward.Digest {
	left, right := [16]byte(d[:16]), [16]byte(d[16:])
	for round := digestRounds - 1; round >= 0; round-- {
		left, right = mixed(key, purpose, round, left, right), left
	}
	return joined(left, right)
}

// mixed is one half, changed by what the other half and the round say.
func mixed(key []byte, purpose string, round int, by, half [16]byte) [16]byte {
	f := mac(key, "onceward/digest/v1\n"+purpose+"\n"+string(rune('0'+round))+string(by[:]))
	for i := range half {
		half[i] ^= f[i]
	}
	return half
}

func joined(left, right [16]byte) (d onceward.Digest) {
	copy(d[:16], left[:])
	copy(d[16:], right[:])
	return d
}

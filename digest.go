package onceward

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest is the SHA-256 over the canonical form of an operation's material
// input. Same key and other digest is another intention. The zero value is no
// digest.
type Digest [32]byte

const materialDomain = "onceward/material/v1\n"

// MaterialDigest computes the digest of what an operation would do: the tool,
// the canonical form of its input without volatile fields (see
// [Node.AppendWithout]), and whatever else is material, such as a query string
// or path parameters. Each part is framed by its length, so that nothing can
// move from one part to the next; extras count by position.
//
// material must be canonical: two texts of one meaning give two digests.
func MaterialDigest(tool ToolName, material []byte, extras ...string) Digest {
	var frame [512]byte
	h := sha256.New()
	h.Write(appendFramed(append(frame[:0], materialDomain...), string(tool)))
	h.Write(binary.AppendUvarint(frame[:0], uint64(len(material))))
	h.Write(material)
	for _, extra := range extras {
		h.Write(appendFramed(frame[:0], extra))
	}
	var d Digest
	h.Sum(d[:0])
	return d
}

// ParseDigest reads 64 lower-case hexadecimal characters. Anything else is an
// [Error] with CodeInvalidRequest.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != 2*len(d) {
		return Digest{}, errDigest()
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil || d.String() != s {
		return Digest{}, errDigest()
	}
	return d, nil
}

func errDigest() error {
	return &Error{Code: CodeInvalidRequest, Op: "read digest", Message: "a digest is 64 lower-case hexadecimal characters"}
}

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is 64 lower-case hexadecimal characters.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText is String as bytes.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDigest] reads.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}

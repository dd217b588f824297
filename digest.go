package onceward

import "encoding/hex"

// Digest is the SHA-256 over the canonical form of an operation's material
// input. Same key and other digest is another intention. The zero value is no
// digest.
type Digest [32]byte

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is 64 lower-case hexadecimal characters.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

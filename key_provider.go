package onceward

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// KeyFormat is the form in which a provider takes its idempotency key.
type KeyFormat uint8

// The key formats.
const (
	KeyHex       KeyFormat = iota // 32 lower-case hexadecimal characters (the zero value)
	KeyBase32Hex                  // 26 characters of lower-case base32hex
	KeyUUID4                      // 36 characters, of the form of a random UUID
	KeyRaw                        // readable: see ProviderKey
)

// ParseKeyFormat reads raw, hex, base32hex or uuid4, as a contract has it; "" is
// hex. Anything else is an [Error] with CodeContractInvalid.
func ParseKeyFormat(s string) (KeyFormat, error) {
	switch s {
	case "", "hex":
		return KeyHex, nil
	case "base32hex":
		return KeyBase32Hex, nil
	case "uuid4":
		return KeyUUID4, nil
	case "raw":
		return KeyRaw, nil
	}
	return 0, &Error{Code: CodeContractInvalid, Op: "read key format", Message: "the format is none of raw, hex, base32hex and uuid4"}
}

// String is the format's name in a contract.
func (f KeyFormat) String() string {
	switch f {
	case KeyHex:
		return "hex"
	case KeyBase32Hex:
		return "base32hex"
	case KeyUUID4:
		return "uuid4"
	case KeyRaw:
		return "raw"
	}
	return "key format " + strconv.Itoa(int(f))
}

// KeyShape is what a contract says of the key that its provider takes.
type KeyShape struct {
	Format KeyFormat
	// Max is the longest key that the provider takes, in characters; 0 is
	// ProviderKeyBytesMax.
	Max int
	// Exclusive says that within the reach of the provider's keys (account,
	// endpoint: whatever its scope is) nobody but this one tenant and this one
	// tool uses keys. Only then may a raw key be the operation's key itself.
	Exclusive bool
}

const (
	// ProviderKeyBytesMax is the longest provider key that is ever made.
	ProviderKeyBytesMax = 255
	// ProviderKeyBitsMin is how many bits of the hash a provider key must hold:
	// with 80 bits, a million keys share one with a chance of 1 in 10^12.
	ProviderKeyBitsMin = 80

	providerKeyDomain = "onceward/provider-key/v1\n"
	providerKeyBytes  = 16 // of the hash, unless Max leaves room for fewer
	uuidLength        = 36
)

// ProviderKey makes the key under which an operation is sent. It depends on
// tenant, tool, key and generation alone, so it is equal on every attempt,
// restart and replay, and another one for a retired key that is used anew.
//
// All formats but raw are a hash, cut to 128 bits (122 for uuid4) or to what
// shape.Max has room for; less than [ProviderKeyBitsMin] is an error.
//
// Raw is for providers at which people look for the key. It is a readable start
// of the operation's key, in which other characters than letters, digits, ".",
// "_" and "-" are replaced by "-", then a dot and the hash, so that tenants,
// tools, generations and long keys never meet at a provider account that they
// share. Where shape.Exclusive rules that out, the raw key of generation 0 is
// the operation's key itself as long as it fits, is visible ASCII and does not
// end like a key with a hash.
//
// An error is an [Error] with CodeContractInvalid: it depends on the shape alone,
// so that lint finds it with any identity.
func ProviderKey(id Identity, generation Generation, shape KeyShape) (string, error) {
	limit := shape.Max
	if limit == 0 {
		limit = ProviderKeyBytesMax
	}
	if limit < shape.lengthMin() || limit > ProviderKeyBytesMax {
		return "", &Error{
			Code:    CodeContractInvalid,
			Op:      "shape provider key",
			Message: fmt.Sprintf("a %s key takes %d to %d characters, not %d", shape.Format, shape.lengthMin(), ProviderKeyBytesMax, limit),
			Hint:    "choose a format that keeps more bits in fewer characters, such as base32hex",
		}
	}
	sum := providerKeySum(id, generation)
	switch shape.Format {
	case KeyHex:
		encoded := hex.EncodeToString(sum[:providerKeyBytes])
		return encoded[:min(len(encoded), limit)], nil
	case KeyBase32Hex:
		return keyTail(sum, limit), nil
	case KeyUUID4:
		return uuid4(sum), nil
	case KeyRaw:
		return rawProviderKey(id.Key, generation, shape.Exclusive, limit, keyTail(sum, limit)), nil
	}
	return "", Errorf(CodeContractInvalid, "unknown %s", shape.Format)
}

// lengthMin is the shortest key of the format that holds enough of the hash.
func (s KeyShape) lengthMin() int {
	switch s.Format {
	case KeyHex:
		return ProviderKeyBitsMin / 4
	case KeyUUID4:
		return uuidLength
	case KeyBase32Hex, KeyRaw:
		return ProviderKeyBitsMin / 5
	}
	return 0
}

func providerKeySum(id Identity, generation Generation) [sha256.Size]byte {
	buf := append(make([]byte, 0, 512), providerKeyDomain...)
	buf = appendJSONStrings(buf, string(id.Tenant), string(id.Tool), string(id.Key))
	return sha256.Sum256(binary.BigEndian.AppendUint32(buf, uint32(generation)))
}

// keyTail is the hash in base32hex, cut to the limit.
func keyTail(sum [sha256.Size]byte, limit int) string {
	encoded := base32hex.EncodeToString(sum[:providerKeyBytes])
	return encoded[:min(len(encoded), limit)]
}

// uuid4 gives the hash the form of a random UUID (RFC 9562, version 4).
func uuid4(sum [sha256.Size]byte) string {
	sum[6] = sum[6]&0x0f | 0x40
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func rawProviderKey(key Key, generation Generation, exclusive bool, limit int, tail string) string {
	room := limit - len(tail) - 1 // for the readable start and its dot
	raw := string(key)
	if exclusive && generation == 0 && raw != "" && len(raw) <= limit && visibleASCII(raw) && !endsLikeHash(raw, room, len(tail)) {
		return raw
	}
	if room < 1 {
		return tail
	}
	readable := readableKey(raw)
	readable = readable[:min(len(readable), room)]
	return strings.TrimRight(readable, "-") + "." + tail
}

// endsLikeHash reports whether a key could be taken for one that ends in a hash:
// behind a dot, or as a whole where there is no room for more.
func endsLikeHash(key string, room, hashLength int) bool {
	end := key
	if room >= 1 {
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			return false
		}
		end = key[dot+1:]
	}
	return len(end) == hashLength && strings.Trim(end, "0123456789abcdefghijklmnopqrstuv") == ""
}

// readableKey replaces each run of characters that a provider might not take by
// a dash. The result is not empty and starts with no dash.
func readableKey(key string) string {
	var b strings.Builder
	dashed := true // no dash at the start
	for i := 0; i < len(key); i++ {
		c := key[i]
		plain := asciiAlphanumeric(c) || c == '.' || c == '_' || c == '-'
		switch {
		case plain:
			b.WriteByte(c)
		case !dashed:
			b.WriteByte('-')
		}
		dashed = !plain
	}
	if readable := strings.Trim(b.String(), "-"); readable != "" {
		return readable
	}
	return "key"
}

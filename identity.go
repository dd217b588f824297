package onceward

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// Tenant names whose data an operation is. It comes from the caller's
// credentials only, never from a request body. The zero value names nobody.
type Tenant string

// ToolName names one kind of action on one external system, such as
// "tickets.create". The zero value names no tool.
type ToolName string

// Key is what makes two requests the same intention inside one tenant and one
// tool. It is derived from business fields by [DeriveKey], or given by the
// caller and checked by [ParseCallerKey]; the zero value is no key. A Key holds
// valid UTF-8 without NUL bytes and is at most [KeyBytesMax] long.
type Key string

// Generation tells the uses of one key apart. It is part of the provider key, so
// that a provider that still remembers an earlier use does not answer with that
// one's effect. The first use has 0, or, where the contract lets tombstones end,
// the second in which it was claimed: then nothing is left of an earlier use
// that could be counted. It is raised in the identity row by compare-and-set
// each time a retired key is used anew.
type Generation uint32

// OperationID identifies one operation. It is computed from the operation's
// [Identity] and is the primary key of its one row; two different identities
// with one ID are possible in theory, so the row keeps the full identity and a
// collision is refused. The zero value identifies nothing.
type OperationID [16]byte

// AttemptID identifies one try of an operation.
type AttemptID struct {
	// Operation is the operation that the attempt belongs to.
	Operation OperationID
	// Number is the attempt's number and fencing token, counted from 1.
	Number int
}

// Limits of names, in bytes.
const (
	// TenantBytesMax is the longest tenant name.
	TenantBytesMax = 128
	// ToolNameBytesMax is the longest tool name.
	ToolNameBytesMax = 128
)

// Identity is the full name of one intention. The zero value names nothing.
type Identity struct {
	Tenant Tenant
	Tool   ToolName
	Key    Key
}

const (
	operationIDPrefix = "op_"
	operationIDDomain = "onceward/operation-id/v1\n"
)

// base32hex is the lower-case, unpadded base32hex of RFC 4648: it sorts like
// the bytes that it stands for and survives systems that fold case.
var base32hex = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewOperationID computes the ID of the operation that (t, tool, key) names:
// the first 16 bytes of SHA-256 over a fixed prefix and the JSON array of the
// three strings. The array, unlike a concatenation, keeps ("ab", "c") apart
// from ("a", "bc").
func NewOperationID(t Tenant, tool ToolName, key Key) OperationID {
	buf := make([]byte, 0, 512)
	buf = append(buf, operationIDDomain...)
	buf = appendJSONStrings(buf, string(t), string(tool), string(key))
	sum := sha256.Sum256(buf)
	return OperationID(sum[:len(OperationID{})])
}

// OperationID computes the ID of the operation that the identity names.
func (i Identity) OperationID() OperationID {
	return NewOperationID(i.Tenant, i.Tool, i.Key)
}

// IsZero reports whether the ID identifies nothing.
func (id OperationID) IsZero() bool { return id == OperationID{} }

// String is "op_" and 26 characters of lower-case base32hex.
func (id OperationID) String() string {
	var buf [len(operationIDPrefix) + 26]byte
	copy(buf[:], operationIDPrefix)
	base32hex.Encode(buf[len(operationIDPrefix):], id[:])
	return string(buf[:])
}

// IsZero reports whether the ID identifies nothing.
func (id AttemptID) IsZero() bool { return id == AttemptID{} }

// String is the operation's ID, a dot, and the attempt's number.
func (id AttemptID) String() string {
	return id.Operation.String() + "." + strconv.Itoa(id.Number)
}

// MarshalText is String as bytes.
func (id OperationID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what [ParseOperationID] reads.
func (id *OperationID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseOperationID(string(text))
	return err
}

// MarshalText is String as bytes.
func (id AttemptID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what [ParseAttemptID] reads.
func (id *AttemptID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseAttemptID(string(text))
	return err
}

// ParseOperationID reads the one form that [OperationID.String] writes. Anything
// else, upper case included, is an [Error] with CodeInvalidRequest: one
// operation has one name.
func ParseOperationID(s string) (OperationID, error) {
	var id OperationID
	encoded, ok := strings.CutPrefix(s, operationIDPrefix)
	if ok && len(encoded) == base32hex.EncodedLen(len(id)) {
		_, err := base32hex.Decode(id[:], []byte(encoded))
		ok = err == nil
	}
	// The decoder skips line ends and ignores unused bits; the comparison does not.
	if !ok || id.String() != s {
		return OperationID{}, &Error{
			Code:    CodeInvalidRequest,
			Op:      "read operation ID",
			Message: `an operation ID is "op_" and 26 characters of lower-case base32hex`,
		}
	}
	return id, nil
}

// ParseAttemptID reads the one form that [AttemptID.String] writes. Anything
// else is an [Error] with CodeInvalidRequest.
func ParseAttemptID(s string) (AttemptID, error) {
	operation, number, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(number, 10, 31)
	id := AttemptID{Number: int(n)}
	if err == nil {
		id.Operation, err = ParseOperationID(operation)
	}
	if err != nil || n == 0 || id.String() != s {
		return AttemptID{}, &Error{
			Code:    CodeInvalidRequest,
			Op:      "read attempt ID",
			Message: "an attempt ID is an operation ID, a dot and a number from 1",
		}
	}
	return id, nil
}

// EveryTenant stands for all tenants, in switches. It is no tenant's name.
const EveryTenant Tenant = "*"

// ParseTenant checks the name of a tenant: 1 to [TenantBytesMax] ASCII letters,
// digits and any of ". _ : @ -", the first a letter or digit. Case matters.
// Anything else is an [Error] with CodeInvalidRequest.
func ParseTenant(s string) (Tenant, error) {
	ok := s != "" && len(s) <= TenantBytesMax && asciiAlphanumeric(s[0])
	for i := 0; ok && i < len(s); i++ {
		ok = asciiAlphanumeric(s[i]) || strings.IndexByte("._:@-", s[i]) >= 0
	}
	if !ok {
		return "", &Error{
			Code:    CodeInvalidRequest,
			Op:      "read tenant name",
			Message: "a tenant name is 1 to 128 letters, digits and . _ : @ -, the first a letter or digit",
		}
	}
	return Tenant(s), nil
}

// ParseToolName checks the name of a tool: at most [ToolNameBytesMax] characters
// of words joined by dots; a word is lower-case letters, digits, "_" and "-",
// and the first word starts with a letter. Anything else is an [Error] with
// CodeInvalidRequest.
func ParseToolName(s string) (ToolName, error) {
	ok := s != "" && len(s) <= ToolNameBytesMax && s[0] >= 'a' && s[0] <= 'z'
	for word := range strings.SplitSeq(s, ".") {
		ok = ok && word != ""
		for i := 0; ok && i < len(word); i++ {
			c := word[i]
			ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
		}
	}
	if !ok {
		return "", &Error{
			Code:    CodeInvalidRequest,
			Op:      "read tool name",
			Message: "a tool name is at most 128 lower-case letters, digits, _ and - in words joined by dots, the first a letter",
		}
	}
	return ToolName(s), nil
}

func asciiAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

package store

import "github.com/onceward/onceward"

// CheckHold refuses, with CodeInvalidRequest or CodeInternal, what no store could keep.
func CheckHold(h *onceward.Hold) error {
	if h.ID == "" || h.Tenant == "" || h.At.IsZero() {
		return onceward.Errorf(onceward.CodeInternal, "the hold is not whole")
	}
	for _, text := range []string{string(h.Tenant), string(h.Subject), string(h.Tool), h.Reason, h.By} {
		if !storable(text) {
			return onceward.Errorf(onceward.CodeInvalidRequest, "a text of the hold is too long, not UTF-8, or holds a NUL character")
		}
	}
	return nil
}

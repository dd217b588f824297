package store

import "github.com/onceward/onceward"

// CheckDataKey refuses, with CodeInternal, what no store could keep as a new data key.
func CheckDataKey(k *onceward.DataKey) error {
	if k.ID.IsZero() || k.Tenant == "" || !storable(string(k.Tenant)) || !storable(string(k.Subject)) || k.Master == "" || k.Wrapped == nil || k.CreatedAt.IsZero() {
		return onceward.Errorf(onceward.CodeInternal, "the data key is not whole")
	}
	return nil
}

//go:build !windows

package sqlite

import (
	"errors"
	"os"
)

// syncFolder makes a name that was given in a folder last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

package webserver

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestOnlyLoopbackIsListenedOnWithoutAuthentication(t *testing.T) {
	t.Parallel()
	for address, allowed := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.3.2.1:0": true, "[::1]:0": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "10.0.0.1:0": false, "[fe80::1]:0": false,
		"127.0.0.1": false, "": false, "127.0.0.1:http:1": false,
	} {
		l, err := Listen(t.Context(), address, false)
		if err == nil {
			err = l.Close()
			if !allowed {
				t.Errorf("%q was listened on without authentication", address)
			}
		} else if allowed && !strings.Contains(err.Error(), "cannot listen") { // an address that this machine has not
			t.Errorf("%q: %v", address, err)
		}
		if !allowed && !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Errorf("%q: %v, want code config_invalid", address, err)
		}
	}
}

func TestAnyAddressIsListenedOnWithAuthentication(t *testing.T) {
	t.Parallel()
	l, err := Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestAddressThatIsTakenSaysSo(t *testing.T) {
	t.Parallel()
	l, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(t.Context(), l.Addr().String(), false); !onceward.Is(err, onceward.CodeConfigInvalid) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error is %v", err)
	}
}

func TestEveryAddressIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	if _, err := Listen(t.Context(), ":0", false); err == nil || !strings.Contains(err.Error(), "every address of this machine") {
		t.Errorf("error is %v", err)
	}
}

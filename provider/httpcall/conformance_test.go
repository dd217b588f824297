package httpcall_test

import (
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func TestConformsToThePort(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		Open:  func(tb testing.TB) onceward.Provider { return newClient(tb, httpcall.Options{}) },
		Write: func(addr string) *onceward.Request { return post("http://" + addr + "/tickets?x=1") },
	})
}

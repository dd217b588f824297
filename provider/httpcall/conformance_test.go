package httpcall_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformsToThePort(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		Open:  func(tb testing.TB) onceward.Provider { return newClient(tb, httpcall.Options{}) },
		Write: func(addr string) *onceward.Request { return post("http://" + addr + "/tickets?x=1") },
	})
}

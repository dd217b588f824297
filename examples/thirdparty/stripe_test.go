//go:build thirdparty

package thirdparty_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// stripeMock is where make thirdparty puts the server.
const stripeMock = "../../tools/stripe/node_modules/.bin/stripe-stateful-mock"

func TestOneChargeAtAServerThatHonoursStripesKeys(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(stripeMock); err != nil {
		t.Fatal("stripe-stateful-mock is missing: run make thirdparty")
	}
	const key = "sk_test_onceward"
	w := newWorld(t, "stripe.charge.yaml", map[string]string{"STRIPE_KEY": key}, "STRIPE_URL", func(port string) *exec.Cmd {
		cmd := exec.Command(stripeMock)
		cmd.Env = append(os.Environ(), "PORT="+port, "LOG_LEVEL=silent")
		return cmd
	})
	w.scenes(t, func(id string) string { return fmt.Sprintf(`{"order":%q,"cents":4200,"currency":"eur"}`, id) },
		func(id string) int {
			_, body := w.get(t, "GET", "/v1/charges?limit=100", "Bearer "+key)
			var list struct {
				Data []struct {
					Metadata struct{ Order string } `json:"metadata"`
				} `json:"data"`
			}
			if err := json.Unmarshal([]byte(body), &list); err != nil {
				t.Errorf("list charges: %v", err)
			}
			n := 0
			for _, c := range list.Data {
				if c.Metadata.Order == id {
					n++
				}
			}
			return n
		})
}

func TestOneCustomerByTheCatalogsContractAtAServerThatHonoursStripesKeys(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(stripeMock); err != nil {
		t.Fatal("stripe-stateful-mock is missing: run make thirdparty")
	}
	const key = "sk_test_onceward"
	w := newWorld(t, "../../catalog/stripe/customers.yaml", map[string]string{"STRIPE_KEY": key}, "STRIPE_URL", func(port string) *exec.Cmd {
		cmd := exec.Command(stripeMock)
		cmd.Env = append(os.Environ(), "PORT="+port, "LOG_LEVEL=silent")
		return cmd
	})
	w.scenes(t, func(id string) string { return fmt.Sprintf(`{"account_id":%q,"email":"%s@example.com"}`, id, id) },
		func(id string) int {
			_, body := w.get(t, "GET", "/v1/customers?limit=100", "Bearer "+key)
			return strings.Count(body, `"`+id+`@example.com"`)
		})
}

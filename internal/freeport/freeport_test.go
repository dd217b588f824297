package freeport

import "testing"

func TestAPortIsGivenOnceAndNeverOneThatOutgoingConnectionsGet(t *testing.T) {
	seen := map[int]bool{}
	for range 300 {
		port, err := Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d is given twice", port)
		}
		if port < 1024 || port >= 32768 {
			t.Fatalf("port %d can be taken by an outgoing connection", port)
		}
		seen[port] = true
	}
}

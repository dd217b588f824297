package onceward

import (
	"encoding/binary"
	"testing"
)

// Another process takes to their end what this one has stepped, and nobody says so.
func TestSagasThatEndElsewhereAreNotKnownForEver(t *testing.T) {
	t.Parallel()
	m := newMovedSagas()
	for n := range uint64(2*sagasKnownMax + 1) {
		s := Saga{State: SagaRunning}
		binary.BigEndian.PutUint64(s.ID[:], n)
		m.know(&s)
	}
	if len(m.known) > sagasKnownMax {
		t.Errorf("%d sagas are known", len(m.known))
	}
}

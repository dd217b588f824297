package postgres

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store"
)

// Every value goes to the server in the binary form and comes back in it.
func TestBinaryFormIsWhatTheServerSpeaks(t *testing.T) {
	t.Parallel()
	s := openInside(t, testdb.Postgres(t))
	at := time.Date(1901, 2, 3, 4, 5, 6, 7000, time.UTC)
	for sql, c := range map[string]struct {
		param param
		text  string
	}{
		"$1::uuid":                         {uuidParam([16]byte{0xab, 15: 1}), "ab000000-0000-0000-0000-000000000001"},
		"$1::uuid[]":                       {uuidsParam([]onceward.OperationID{{1}, {2}}), "{01000000-0000-0000-0000-000000000000,02000000-0000-0000-0000-000000000000}"},
		"$1::text":                         {textParam("grün"), "grün"},
		"$1::bigint":                       {intParam(math.MinInt64), "-9223372036854775808"},
		"$1::smallint[]":                   {statesParam([]onceward.State{3, 7}), "{3,7}"},
		"$1::smallint[] ":                  {statesParam(nil), "{}"},
		"timezone('UTC', $1::timestamptz)": {timeParam(at), "1901-02-03 04:05:06.000007"},
		"coalesce($1::timestamptz::text, 'null')": {timeParam(time.Time{}), "null"},
	} {
		conn, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got string
		err = s.each(t.Context(), conn.Conn(), func(values [][]byte) error { got = string(values[0]); return nil }, "select ("+sql+")::text", c.param)
		conn.Release()
		if err != nil || got != c.text {
			t.Errorf("%s is %q (%v), want %q", sql, got, err, c.text)
		}
	}
}

func TestValueThatIsNotOfItsTypeIsAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	good := appendArrayHead(nil, kindBytes, 2)
	good = appendNull(appendBytes(good, []byte("abc")))
	var elements [][]byte
	collect := func(v []byte) error { elements = append(elements, v); return nil }
	if err := readArray(good, collect); err != nil || len(elements) != 2 || string(elements[0]) != "abc" || elements[1] != nil {
		t.Fatalf("a good array gives %q, %v", elements, err)
	}
	for cut := range len(good) {
		if err := readArray(good[:cut], collect); err == nil {
			t.Errorf("an array cut at %d gives no error", cut)
		}
	}
	two := bytes.Clone(good)
	two[3] = 2
	if err := readArray(two, collect); err == nil {
		t.Error("an array of two dimensions gives no error")
	}
	for name, err := range map[string]error{
		"number": second(readNumber[int64]([]byte{1, 2})), "time": second(readTime([]byte{1})), "uuid": second(readUUID([]byte{1})),
		"bodies": second(readBodies(good, good)),
	} {
		if err == nil {
			t.Errorf("a malformed %s gives no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// The bodies of a batch must fit one message, or half of it is tried; a change
// alone always fits.
func TestBatchThatNoMessageCanCarryIsCutInTwo(t *testing.T) {
	t.Parallel()
	input := make([]byte, store.PartBytesMax)
	changes := make([]onceward.Change, 5)
	for i := range changes {
		changes[i].After = onceward.Operation{
			ID: onceward.OperationID{byte(i)}, Tenant: "a", Tool: "t", Key: "k", State: onceward.StateReady, Version: 1,
			Token: onceward.WriteToken{1}, CreatedAt: time.Now(), Input: input,
		}
		changes[i].After.ID[1] = 1
	}
	for n, want := range map[int]onceward.Code{1: "", 4: "", 5: onceward.CodeTooLarge} {
		if got := onceward.CodeOf(newBatch(changes[:n], make([]onceward.Committed, n)).check()); got != want {
			t.Errorf("%d bodies of 64 MiB give %q, want %q", n, got, want)
		}
	}
}

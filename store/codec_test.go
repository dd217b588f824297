package store_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

var epoch = time.Date(2026, 11, 29, 8, 0, 0, 123456000, time.UTC)

// fill gives every field of v, however deep, a value that is not zero. So a
// field that somebody adds and the codec forgets fails the round trip.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(epoch.Add(time.Duration(*n) * time.Microsecond)))
			return
		}
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[onceward.Operation]() && v.Type().Field(i).Name == "Policy" {
				continue // never stored
			}
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", *n%5+1))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(*n%4 + 1))
	case reflect.Uint32:
		v.SetUint(uint64(*n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	default:
		panic("no value for " + v.Type().String())
	}
}

func full() *onceward.Operation {
	op := &onceward.Operation{}
	n := 0
	fill(reflect.ValueOf(op).Elem(), &n)
	// What is encrypted stands in place of the input, and names its key itself.
	op.DataKey, op.Sealed, op.Blind, op.Input = onceward.DataKeyID{}, nil, "", []byte(`{"a":1}`)
	return op
}

func roundTrip(t testing.TB, op *onceward.Operation) *onceward.Operation {
	t.Helper()
	row, bodies, err := store.Encode(op)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	back, err := store.Decode(&row, bodies)
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	return back
}

func TestEveryFieldOfAnOperationComesBack(t *testing.T) {
	t.Parallel()
	op := full()
	if diff := cmp.Diff(op, roundTrip(t, op)); diff != "" {
		t.Errorf("the operation changed on its way (-want +got):\n%s", diff)
	}
}

func TestSecretsAreTakenOutAndComeBack(t *testing.T) {
	t.Parallel()
	op, want := full(), full()
	first := op.Attempts[0]
	plain := store.TakeSecrets(op)
	if op.Input != nil || op.Request != nil || op.Prints != nil || op.Result.Body != nil || op.Result.Header != nil || op.Failure.Message != "" || op.ReviewReason != "" ||
		op.Attempts[0].Failure.Message != "" || !op.Supersedes[0].Digest.IsZero() || first.Failure.Message == "" {
		t.Fatalf("something is left: %+v", op)
	}
	op.Sealed = append([]byte{1}, plain...)
	back := roundTrip(t, op)
	back.Sealed = nil
	if err := store.PutSecrets(back, plain); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("the operation changed on its way (-want +got):\n%s", diff)
	}
	for n := range plain {
		if err := store.PutSecrets(full(), plain[:n]); err == nil {
			t.Fatalf("%d bytes of %d are read", n, len(plain))
		}
	}
}

// minimal is the least that is stored.
func minimal() *onceward.Operation {
	return &onceward.Operation{
		ID: onceward.OperationID{1}, Tenant: "t", Tool: "x", Key: "k", State: onceward.StateReady, Version: 1,
		Token: onceward.WriteToken{1}, CreatedAt: epoch, IntentAt: epoch,
	}
}

func TestFieldsThatAreZeroStayZero(t *testing.T) {
	t.Parallel()
	op := minimal()
	row, _, err := store.Encode(op)
	if err != nil {
		t.Fatal(err)
	}
	if row.Detail != nil || row.Input != nil || row.Request != nil || row.Result != nil || row.Prints != nil {
		t.Errorf("a row without anything off the path takes space: %+v", row)
	}
	op.IntentAt = time.Time{}
	if diff := cmp.Diff(op, roundTrip(t, op)); diff != "" {
		t.Errorf("the operation changed on its way (-want +got):\n%s", diff)
	}
}

func TestUndisturbedOperationHasALeanDetail(t *testing.T) {
	t.Parallel()
	op := minimal()
	op.State, op.Reference = onceward.StateSucceeded, "tkt_1042"
	op.Attempts = []onceward.Attempt{{
		Number: 1, Owner: "replica-1f2e3d4c", Status: onceward.StatusDone, Settler: onceward.SettledByAnswer,
		StartedAt: epoch, LeaseUntil: epoch.Add(25 * time.Second), EndedAt: epoch.Add(180 * time.Millisecond),
		LastByteAt: epoch.Add(3 * time.Millisecond), Reach: onceward.ReachFirstByte, Reference: op.Reference,
	}}
	row, _, err := store.Encode(op)
	if err != nil {
		t.Fatal(err)
	}
	if len(row.Detail) > 20 {
		t.Errorf("the detail takes %d bytes, want at most 20", len(row.Detail))
	}
	if diff := cmp.Diff(op, roundTrip(t, op)); diff != "" {
		t.Errorf("the operation changed on its way (-want +got):\n%s", diff)
	}
}

func TestAbsentAndEmptyBodiesAreKeptApart(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{"absent": nil, "empty": {}, "zeros": {0, 0}} {
		op := minimal()
		op.Result = &onceward.Result{Body: body, BodyKept: body != nil}
		op.Request = &onceward.Request{Method: "POST", Body: body}
		op.Input = body
		if diff := cmp.Diff(op, roundTrip(t, op)); diff != "" {
			t.Errorf("%s: the operation changed on its way (-want +got):\n%s", name, diff)
		}
	}
}

func TestLongPartsMoveToTheSideTable(t *testing.T) {
	t.Parallel()
	op := minimal()
	op.Input = []byte(strings.Repeat("i", store.PartInlineBytes+1))
	op.Request = &onceward.Request{Body: []byte(strings.Repeat("r", store.PartInlineBytes))}
	op.Result = &onceward.Result{Body: []byte(strings.Repeat("s", 10))}
	row, bodies, err := store.Encode(op)
	if err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 2 || bodies[0].Part != store.PartInput || bodies[1].Part != store.PartRequest {
		t.Fatalf("the parts aside are %v, want input and request", bodies)
	}
	if row.Input != nil || row.Request != nil || row.Result == nil || row.Side != store.PartInput.Bit()|store.PartRequest.Bit() {
		t.Errorf("the row does not say what it lacks: side %b", row.Side)
	}
	if _, err := store.Decode(&row, bodies[:1]); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
		t.Errorf("a missing body gives %v, want ledger_corrupt", err)
	}
	slim, err := store.DecodeSlim(&row)
	if err != nil || slim.Input != nil || slim.Request != nil || slim.Result != nil {
		t.Errorf("DecodeSlim gives %v, %v, want no bodies", slim, err)
	}
}

func TestReferenceThatIsNoTextIsKept(t *testing.T) {
	t.Parallel()
	for _, reference := range []string{"a\x00b", "\xff\xfe", strings.Repeat("r", store.TextBytesMax+1)} {
		op := minimal()
		op.Reference = reference
		op.Attempts = []onceward.Attempt{{Number: 1, Reference: reference}}
		row, _, err := store.Encode(op)
		if err != nil {
			t.Fatal(err)
		}
		if row.Reference != "" {
			t.Errorf("the column holds %q, which a text column may refuse", row.Reference)
		}
		if diff := cmp.Diff(op, roundTrip(t, op)); diff != "" {
			t.Errorf("the operation changed on its way (-want +got):\n%s", diff)
		}
	}
}

func TestRowThatNoStoreCanKeepIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*onceward.Operation)
		want  onceward.Code
	}{
		"no ID":        {func(o *onceward.Operation) { o.ID = onceward.OperationID{} }, onceward.CodeInternal},
		"no tenant":    {func(o *onceward.Operation) { o.Tenant = "" }, onceward.CodeInternal},
		"no tool":      {func(o *onceward.Operation) { o.Tool = "" }, onceward.CodeInternal},
		"no key":       {func(o *onceward.Operation) { o.Key = "" }, onceward.CodeInternal},
		"no state":     {func(o *onceward.Operation) { o.State = 0 }, onceward.CodeInternal},
		"wrong state":  {func(o *onceward.Operation) { o.State = 200 }, onceward.CodeInternal},
		"no token":     {func(o *onceward.Operation) { o.Token = onceward.WriteToken{} }, onceward.CodeInternal},
		"no creation":  {func(o *onceward.Operation) { o.CreatedAt = time.Time{} }, onceward.CodeInternal},
		"NUL in run":   {func(o *onceward.Operation) { o.Run = "a\x00" }, onceward.CodeInvalidInput},
		"bad UTF-8":    {func(o *onceward.Operation) { o.Actor = "\xff" }, onceward.CodeInvalidInput},
		"long text":    {func(o *onceward.Operation) { o.CorrelationID = strings.Repeat("c", store.TextBytesMax+1) }, onceward.CodeInvalidInput},
		"huge input":   {func(o *onceward.Operation) { o.Input = make([]byte, store.PartBytesMax+1) }, onceward.CodeTooLarge},
		"wrong number": {func(o *onceward.Operation) { o.Version = 3 }, onceward.CodeInternal},
	} {
		op := minimal()
		c.spoil(op)
		_, err := store.Prepare(&onceward.Change{After: *op})
		if got := onceward.CodeOf(err); got != c.want {
			t.Errorf("%s: refused with %q, want %q", name, got, c.want)
		}
	}
}

func TestDamagedBlobIsCorruptAndNeverPanics(t *testing.T) {
	t.Parallel()
	op := full()
	row, bodies, err := store.Encode(op)
	if err != nil || len(bodies) != 0 {
		t.Fatalf("Encode: %d bodies, %v", len(bodies), err)
	}
	rapid.Check(t, func(r *rapid.T) {
		bad := row
		blob := rapid.SampledFrom([]*[]byte{&bad.Detail, &bad.Request, &bad.Result, &bad.Prints}).Draw(r, "blob")
		cut := rapid.IntRange(1, len(*blob)-1).Draw(r, "cut")
		*blob = (*blob)[:cut]
		if _, err := store.Decode(&bad, nil); err != nil && !onceward.Is(err, onceward.CodeLedgerCorrupt) {
			r.Fatalf("a cut blob gives %v, want ledger_corrupt", err)
		}
		noise := bad
		noise.Detail = rapid.SliceOf(rapid.Byte()).Draw(r, "noise")
		if _, err := store.Decode(&noise, nil); err != nil && !onceward.Is(err, onceward.CodeLedgerCorrupt) && !onceward.Is(err, onceward.CodeLedgerTooNew) {
			r.Fatalf("noise gives %v, want ledger_corrupt or ledger_too_new", err)
		}
	})
	for _, blob := range []*[]byte{&row.Request, &row.Result, &row.Prints, &row.Detail} {
		whole := *blob
		*blob = append([]byte{0}, whole[1:]...)
		if _, err := store.Decode(&row, nil); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
			t.Errorf("no format gives %v, want ledger_corrupt", err)
		}
		*blob = append(append([]byte{}, whole...), 0)
		if _, err := store.Decode(&row, nil); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
			t.Errorf("trailing bytes give %v, want ledger_corrupt", err)
		}
		*blob = whole
	}
}

// What a newer release may write is told apart from damage: an older replica
// leaves it alone.
func TestRowOfANewerReleaseIsTooNew(t *testing.T) {
	t.Parallel()
	op := full()
	whole, _, err := store.Encode(op)
	if err != nil {
		t.Fatal(err)
	}
	later := func(b []byte) []byte { return append([]byte{9}, b[1:]...) }
	for what, change := range map[string]func(*store.Row){
		"a later form of the request": func(r *store.Row) { r.Request = later(r.Request) },
		"a later form of the result":  func(r *store.Row) { r.Result = later(r.Result) },
		"a later form of the detail":  func(r *store.Row) { r.Detail = later(r.Detail) },
		"a further tag":               func(r *store.Row) { r.Detail = append(slices.Clone(r.Detail), 200, 1, 2) },
		"a further flag":              func(r *store.Row) { r.Detail = []byte{1, 3, 0x80, 0x80, 0x80, 1} },
		"a further bit of an attempt": func(r *store.Row) { r.Detail = []byte{1, 1, 1, 1, 0, 0, 0x80, 0x80, 0x80, 1} },
		"a further state":             func(r *store.Row) { r.State = int16(onceward.StateCompensated) + 1 },
		"a further effect class":      func(r *store.Row) { r.Effect = int16(onceward.EffectUnsafeWrite) + 1 },
	} {
		row := whole
		change(&row)
		if _, err := store.Decode(&row, nil); !onceward.Is(err, onceward.CodeLedgerTooNew) {
			t.Errorf("%s gives %v, want ledger_too_new", what, err)
		}
	}
	w, err := store.Prepare(&onceward.Change{After: *minimal(), Records: []onceward.Record{{Version: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.DecodeRecord(op.ID, later(w.Records[0].Body)); !onceward.Is(err, onceward.CodeLedgerTooNew) {
		t.Errorf("a later form of a record gives %v, want ledger_too_new", err)
	}
}

func TestEveryFieldOfARecordComesBack(t *testing.T) {
	t.Parallel()
	var r onceward.Record
	n := 0
	fill(reflect.ValueOf(&r).Elem(), &n)
	r.Evidence.Warning = "" // it is the record's reason
	op := minimal()
	w, err := store.Prepare(&onceward.Change{After: *op, Records: []onceward.Record{r, {Version: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if w.Records[0].Version != 1 || w.Records[0].Seq != 0 || w.Records[1].Seq != 1 {
		t.Errorf("the records are numbered %d.%d and %d.%d", w.Records[0].Version, w.Records[0].Seq, w.Records[1].Version, w.Records[1].Seq)
	}
	back, err := store.DecodeRecord(op.ID, w.Records[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("the record changed on its way (-want +got):\n%s", diff)
	}
	if _, err := store.DecodeRecord(op.ID, w.Records[0].Body[:9]); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
		t.Errorf("a cut record gives %v, want ledger_corrupt", err)
	}
}

func TestEvidenceBodyIsCutToItsLimit(t *testing.T) {
	t.Parallel()
	r := onceward.Record{Evidence: &onceward.Evidence{Body: make([]byte, onceward.RecordBodyBytes+1)}}
	w, err := store.Prepare(&onceward.Change{After: *minimal(), Records: []onceward.Record{r}})
	if err != nil {
		t.Fatal(err)
	}
	back, err := store.DecodeRecord(onceward.OperationID{1}, w.Records[0].Body)
	if err != nil || len(back.Evidence.Body) != onceward.RecordBodyBytes {
		t.Errorf("the body kept has %d bytes (%v), want %d", len(back.Evidence.Body), err, onceward.RecordBodyBytes)
	}
}

func TestJournalComesBack(t *testing.T) {
	t.Parallel()
	want := []store.Entry{
		{ID: onceward.OperationID{1}, Version: 1, To: onceward.StateEffectPending},
		{ID: onceward.OperationID{2}, Version: 9, From: onceward.StateReady, To: onceward.StateFailed, Event: "attempt_not_done"},
	}
	blob := store.EncodeJournal(want)
	got, err := store.DecodeJournal(blob)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the journal changed on its way (%v, -want +got):\n%s", err, diff)
	}
	entry := len(store.EncodeJournal(want[:1]))
	for cut := range blob {
		if cut == 1 || cut == entry {
			continue // a journal of fewer entries
		}
		if _, err := store.DecodeJournal(blob[:cut]); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
			t.Errorf("%d of %d bytes give %v, want ledger_corrupt", cut, len(blob), err)
		}
	}
}

func TestTimesKeepTheirMicrosecond(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Unix(0, 0), epoch, time.Unix(-1, 999), time.Date(1600, 1, 2, 3, 4, 5, 6789, time.UTC)} {
		want := store.Stored(at)
		if got := store.Time(store.Micros(at)); !got.Equal(want) || got.IsZero() != at.IsZero() {
			t.Errorf("%v comes back as %v, want %v", at, got, want)
		}
	}
}

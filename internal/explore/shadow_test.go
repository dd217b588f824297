package explore

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// TestARowStandsForAllOperationsThatItIsMadeFrom walks at random, where it was
// least often, and leads, beside each row, the operation itself: with its own times, never cut short. Whatever
// is told, both accept or both refuse it, and the operation that comes out of it
// makes the row that comes out of it. Otherwise a row would forget something
// that a rule still reads, and states would be taken for one that are not.
func TestARowStandsForAllOperationsThatItIsMadeFrom(t *testing.T) {
	t.Parallel()
	for _, c := range Plan() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			been := map[row]int{}
			for seed := range walks() {
				walkBeside(t, &c, seed, been)
			}
		})
	}
}

// walks is how many random walks are made in each configuration.
func walks() uint64 {
	if *states == 0 {
		return 1000
	}
	return uint64(max(8, *states/2000))
}

// beside is a successor with the operation that belongs to it.
type beside struct {
	s  state
	op onceward.Operation
	at time.Time
}

func walkBeside(t *testing.T, c *Config, seed uint64, been map[row]int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	x := newExplorer(c, Real())
	now := beside{s: x.first(), op: x.fresh(), at: epoch}
	for range 250 {
		var next []beside
		told, toldRow := now.op, now.s.row
		x.watch = func(evs []onceward.Event, accepted bool, r *row) {
			d := now.at.Sub(epoch)
			op, ok := tellAll(now.op, evs, now.at, d)
			if ok != accepted {
				t.Fatalf("%s, seed %d: %T of %s is accepted by the row: %v, by the operation: %v", c.Name, seed, evs[0], now.op.State, accepted, ok)
			}
			if !ok {
				return
			}
			moved := moveTimes(op, -d)
			if made, fits := x.pack(&moved); !fits || made != *r {
				t.Fatalf("%s, seed %d: after %T the row is\n%+v, the operation makes\n%+v", c.Name, seed, evs[0], *r, made)
			}
			told, toldRow = op, *r
		}
		x.expand(&now.s, func(a action, s *state) {
			step := beside{s: *s, op: now.op, at: now.at}
			if s.row == toldRow {
				step.op = told
			}
			if a.kind == tick {
				step.at = now.at.Add(Tick)
			}
			if s.row.stored {
				step.op.Version = 1
			}
			next = append(next, step)
		})
		if len(next) == 0 {
			return
		}
		random.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		now = slices.MinFunc(next, func(a, b beside) int { return cmp.Compare(been[a.s.row], been[b.s.row]) })
		been[now.s.row]++
	}
}

func tellAll(op onceward.Operation, evs []onceward.Event, at time.Time, d time.Duration) (onceward.Operation, bool) {
	for _, ev := range evs {
		var err error
		if op, _, err = onceward.Apply(op, moveTimes(ev, d), at); err != nil {
			return op, false
		}
	}
	return op, true
}

// moveTimes returns a copy in which every time that is set is moved by d.
func moveTimes[T any](v T, d time.Duration) T {
	moved := reflect.New(reflect.TypeOf(v)).Elem()
	moved.Set(reflect.ValueOf(v))
	moveAll(moved, d)
	return moved.Interface().(T)
}

func moveAll(v reflect.Value, d time.Duration) {
	switch v.Kind() {
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			if !at.IsZero() {
				v.Set(reflect.ValueOf(at.Add(d)))
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				moveAll(v.Field(i), d)
			}
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.Struct {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		for i := range own.Len() {
			moveAll(own.Index(i), d)
		}
		v.Set(own)
	default:
	}
}

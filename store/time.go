package store

import (
	"math"
	"time"
)

// noTime stands for the zero time where a time is kept as a number, so that
// 1970-01-01, where settable clocks like to start, stays a time.
const noTime = math.MinInt64

// Stored is t as a store gives it back: in UTC, cut to the microsecond. The
// zero time stays zero.
func Stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Micros is t in microseconds since 1970, for stores that keep times as
// numbers. The zero time is the smallest int64; stores that prefer NULL ask
// IsZero first.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.Truncate(time.Microsecond).UnixMicro()
}

// Time is the inverse of Micros.
func Time(micros int64) time.Time {
	if micros == noTime {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

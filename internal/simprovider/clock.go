package simprovider

import (
	"fmt"
	"time"
)

// Clock is where the server takes time from: key retention, late commits and
// slow answers follow it. Tests set it by hand.
type Clock interface {
	// Now is the present moment.
	Now() time.Time
	// AfterFunc calls f once, in a goroutine of its own, when d has passed.
	// The returned stop is true when it kept f from being called.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Duration is a time.Duration written as text ("1.5s") in JSON.
type Duration time.Duration

// MarshalText writes the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration as Go writes it; negative ones are refused.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("read duration: %w", err)
	}
	if parsed < 0 {
		return fmt.Errorf("read duration: %s is negative", text)
	}
	*d = Duration(parsed)
	return nil
}

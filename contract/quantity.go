package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// durationMax is the longest duration that a contract may name.
const durationMax = 100 * 365 * 24 * time.Hour

// parseDuration reads a Go duration that may have days in front: 90d, 1d12h, 1m30s.
func parseDuration(s string) (time.Duration, error) {
	var days time.Duration
	rest := s
	if head, tail, found := strings.Cut(s, "d"); found {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil || n > uint64(durationMax/(24*time.Hour)) {
			return 0, fmt.Errorf("it is not a duration, such as 10s, 1m30s or 7d")
		}
		days, rest = time.Duration(n)*24*time.Hour, tail
	}
	var d time.Duration
	if rest != "" || days == 0 && !strings.HasSuffix(s, "d") {
		var err error
		if d, err = time.ParseDuration(rest); err != nil {
			return 0, fmt.Errorf("it is not a duration, such as 10s, 1m30s or 7d")
		}
	}
	switch d += days; {
	case d < 0:
		return 0, fmt.Errorf("a duration is not negative")
	case d > durationMax:
		return 0, fmt.Errorf("it is longer than 100 years")
	}
	return d, nil
}

// formatDuration writes a duration as parseDuration reads it, without zero parts.
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var sizeUnits = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"B", 1}}

// formatSize is a number of bytes in the largest unit that divides it.
func formatSize(n int64) string {
	for _, u := range []string{"GiB", "MiB", "KiB"} {
		for _, unit := range sizeUnits {
			if unit.suffix == u && n >= unit.factor && n%unit.factor == 0 {
				return strconv.FormatInt(n/unit.factor, 10) + u
			}
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// parseSize reads a number of bytes: 262144, 256KiB, 16MiB, 1MB.
func parseSize(s string) (int64, error) {
	digits, factor := s, int64(1)
	for _, u := range sizeUnits {
		if head, found := strings.CutSuffix(s, u.suffix); found {
			digits, factor = strings.TrimSpace(head), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/factor {
		return 0, fmt.Errorf("it is not a size, such as 256KiB or 16MiB")
	}
	return n * factor, nil
}

// parseRate reads "10/s", "100/m", "5000/24h".
func parseRate(s string) (onceward.Rate, error) {
	head, tail, found := strings.Cut(s, "/")
	count, err := strconv.Atoi(strings.TrimSpace(head))
	if !found || err != nil || count < 1 {
		return onceward.Rate{}, fmt.Errorf("it is not a rate, such as 10/s or 100/m")
	}
	tail = strings.TrimSpace(tail)
	if tail == "s" || tail == "m" || tail == "h" || tail == "d" {
		tail = "1" + tail
	}
	per, err := parseDuration(tail)
	if err != nil || per == 0 {
		return onceward.Rate{}, fmt.Errorf("it is not a rate, such as 10/s or 100/m")
	}
	return onceward.Rate{Count: count, Per: per}, nil
}

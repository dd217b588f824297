package main

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/memory"
)

func TestATimeOfKeepingOfLessThanADayIsRefused(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{})
	for name, set := range map[string]func(*config, time.Duration){
		"audit":     func(c *config, d time.Duration) { c.Keep.Audit = d },
		"runs":      func(c *config, d time.Duration) { c.Keep.Runs = d },
		"documents": func(c *config, d time.Duration) { c.Keep.Documents = d },
		"replays":   func(c *config, d time.Duration) { c.Keep.Replays = d },
	} {
		for keep, ok := range map[time.Duration]bool{-time.Hour: false, time.Nanosecond: false, 24*time.Hour - 1: false, 0: true, 24 * time.Hour: true} {
			var c config
			set(&c, keep)
			if _, err := newAuditor(c, s); ok && err != nil || !ok && !onceward.Is(err, onceward.CodeConfigInvalid) {
				t.Errorf("keep.%s of %s gives %v", name, keep, err)
			}
		}
	}
}

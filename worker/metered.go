package worker

import (
	"context"

	"github.com/onceward/onceward"
)

// Metered counts the steps of loops.
func Metered(m onceward.Meter, loops ...Loop) []Loop {
	out := make([]Loop, len(loops))
	for i, l := range loops {
		out[i] = &metered{l, m}
	}
	return out
}

type metered struct {
	Loop
	meter onceward.Meter
}

// Step implements Loop.
func (l *metered) Step(ctx context.Context) (bool, error) {
	worked, err := l.Loop.Step(ctx)
	result := "idle"
	switch {
	case err != nil:
		result = "failed"
	case worked:
		result = "worked"
	}
	if ctx.Err() == nil {
		l.meter.Add(onceward.MetricLoopSteps, 1, onceward.Labels{l.Name(), result})
	}
	return worked, err
}

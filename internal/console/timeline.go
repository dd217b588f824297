package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// The drawing's measures, in units of its own: it is scaled to the page.
const (
	drawnLeft   = 118.0 // the lanes' names stand left of it
	drawnRight  = 986.0
	drawnTop    = 26.0
	laneHeight  = 26.0
	breakWidth  = 76.0 // of a stretch that is left out
	breaksMax   = 5
	attemptsMax = 8 // lanes of attempts; the oldest are left out beyond
)

// drawing is an operation's time as a picture: every stretch that is drawn has
// the same scale, and what is left out is marked with how long it was.
type drawing struct {
	Height  float64
	Lanes   []lane
	Spans   []span
	Unknown []span // while nobody knew
	Marks   []mark
	Breaks  []pause
	Ticks   []tick
	Label   string
	Left    int // attempts that are left out
}

type lane struct {
	Y, Mid float64
	Label  string
}

type span struct {
	X, Y, W, H  float64
	Class, Text string
}

type mark struct {
	X, Y        float64
	Class, Text string
}

type pause struct {
	X, W float64
	Text string
}

type tick struct {
	X    float64
	Text string
	End  bool
}

// scale maps times to places.
type scale struct {
	stretches []stretch
	unit      float64 // width of a second
}

// stretch is a part of the time that is drawn to scale.
type stretch struct {
	from, to time.Time
	x        float64
}

func (s *scale) x(t time.Time) float64 {
	for i := range s.stretches {
		st := &s.stretches[i]
		if !t.After(st.to) {
			return st.x + max(0, t.Sub(st.from).Seconds())*s.unit
		}
	}
	last := &s.stretches[len(s.stretches)-1]
	return last.x + last.to.Sub(last.from).Seconds()*s.unit
}

// newScale cuts long stretches out in which nothing happened: as long as one is
// two fifths of what is drawn, the rest could not be read.
func newScale(points []time.Time, busy []active) *scale {
	slices.SortFunc(points, time.Time.Compare)
	points = slices.CompactFunc(points, time.Time.Equal)
	type gap struct {
		after int
		d     time.Duration
	}
	var gaps []gap
	var drawn time.Duration
	for i := 1; i < len(points); i++ {
		d := points[i].Sub(points[i-1])
		drawn += d
		if !slices.ContainsFunc(busy, func(b active) bool { return b.from.Before(points[i]) && b.to.After(points[i-1]) }) {
			gaps = append(gaps, gap{i - 1, d})
		}
	}
	slices.SortFunc(gaps, func(a, b gap) int { return int(b.d - a.d) })
	cut := map[int]bool{}
	for _, g := range gaps {
		if len(cut) == breaksMax || g.d*5 < drawn*2 || drawn-g.d <= 0 {
			break
		}
		cut[g.after] = true
		drawn -= g.d
	}
	s := &scale{}
	width := drawnRight - drawnLeft - float64(len(cut))*breakWidth
	s.unit = width / max(drawn.Seconds(), 1e-3)
	x := drawnLeft
	at := stretch{from: points[0], to: points[0], x: x}
	for i := 1; i < len(points); i++ {
		if !cut[i-1] {
			at.to = points[i]
			continue
		}
		s.stretches = append(s.stretches, at)
		x = at.x + at.to.Sub(at.from).Seconds()*s.unit + breakWidth
		at = stretch{from: points[i], to: points[i], x: x}
	}
	s.stretches = append(s.stretches, at)
	return s
}

// active is a time in which something happens.
type active struct{ from, to time.Time }

// draw makes the picture of an operation.
func draw(op *onceward.Operation, story []line, now time.Time) *drawing {
	attempts := op.Attempts
	d := &drawing{}
	if len(attempts) > attemptsMax {
		d.Left = len(attempts) - attemptsMax
		attempts = attempts[d.Left:]
	}
	points, busy := []time.Time{op.CreatedAt}, []active{}
	for i := range attempts {
		from, to := attempts[i].StartedAt, attemptEnd(&attempts[i], now)
		points = append(points, from, to)
		busy = append(busy, active{from, to})
	}
	for i := range story {
		points = append(points, story[i].At)
	}
	if !op.State.Terminal() {
		points = append(points, now)
	}
	s := newScale(points, busy)
	d.lanes(attempts, story)
	for i := range attempts {
		d.attempt(s, &attempts[i], i, now)
	}
	d.marks(s, story, len(attempts))
	d.unknown(s, story, now)
	d.times(s, op.CreatedAt)
	d.Label = word("drawing.label", len(op.Attempts), took(s.stretches[len(s.stretches)-1].to.Sub(op.CreatedAt)))
	return d
}

// attemptEnd is when an attempt was over, as far as it is known by now.
func attemptEnd(a *onceward.Attempt, now time.Time) time.Time {
	switch {
	case !a.EndedAt.IsZero():
		return a.EndedAt
	case a.LeaseUntil.Before(now):
		return a.LeaseUntil
	}
	return now
}

func (d *drawing) lanes(attempts []onceward.Attempt, story []line) {
	add := func(label string) {
		y := drawnTop + float64(len(d.Lanes))*laneHeight
		d.Lanes = append(d.Lanes, lane{Y: y, Mid: y + laneHeight/2, Label: label})
	}
	for i := range attempts {
		add(word("drawing.attempt", attempts[i].Number))
	}
	for _, kind := range []string{"probe", "people"} {
		if slices.ContainsFunc(story, func(l line) bool { return l.Kind == kind }) {
			add(word("drawing." + kind))
		}
	}
	add(word("drawing.machine"))
	d.Height = drawnTop + float64(len(d.Lanes))*laneHeight + 6
}

func (d *drawing) attempt(s *scale, a *onceward.Attempt, row int, now time.Time) {
	from, end := s.x(a.StartedAt), attemptEnd(a, now)
	y := d.Lanes[row].Y + 6
	class := "s-" + a.Status.String()
	text := word("drawing.attempt_text", a.Number, wordOr("attempt.", a.Status.String()), took(end.Sub(a.StartedAt)), word("reach."+a.Reach.String()))
	d.Spans = append(d.Spans, span{X: from, Y: y, W: max(3, s.x(end)-from), H: laneHeight - 12, Class: class, Text: text})
}

func (d *drawing) marks(s *scale, story []line, attempts int) {
	rows := map[string]int{}
	for i := attempts; i < len(d.Lanes); i++ {
		for _, kind := range []string{"probe", "people", "machine"} {
			if d.Lanes[i].Label == word("drawing."+kind) {
				rows[kind] = i
			}
		}
	}
	for i := range story {
		l := &story[i]
		row, drawn := rows[l.Kind]
		if !drawn {
			continue // attempts are spans
		}
		text := l.Event
		if l.Actor != "" && l.Kind == "people" {
			text += ": " + onceward.Visible(l.Actor)
		}
		d.Marks = append(d.Marks, mark{X: s.x(l.At), Y: d.Lanes[row].Mid, Class: "m-" + l.Kind + " e-" + l.Name, Text: text})
	}
}

// unknown shades the time in which nobody knew whether it had happened.
func (d *drawing) unknown(s *scale, story []line, now time.Time) {
	uncertain := func(st onceward.State) bool {
		return st == onceward.StateOutcomeUnknown || st == onceward.StateNeedsReview || st == onceward.StateAbandoned
	}
	var since time.Time
	shade := func(until time.Time) {
		x := s.x(since)
		d.Unknown = append(d.Unknown, span{X: x, Y: drawnTop, W: max(2, s.x(until)-x), H: d.Height - drawnTop - 6, Text: word("drawing.unknown", took(until.Sub(since)))})
		since = time.Time{}
	}
	for i := range story {
		switch l := &story[i]; {
		case since.IsZero() && uncertain(l.To):
			since = l.At
		case !since.IsZero() && l.To != 0 && !uncertain(l.To):
			shade(l.At)
		}
	}
	if !since.IsZero() {
		shade(now)
	}
}

// times writes how long after the claim each stretch begins and ends.
func (d *drawing) times(s *scale, began time.Time) {
	for i := range s.stretches {
		st := &s.stretches[i]
		end := st.x + st.to.Sub(st.from).Seconds()*s.unit
		if i > 0 {
			before := &s.stretches[i-1]
			d.Breaks = append(d.Breaks, pause{X: st.x - breakWidth, W: breakWidth, Text: took(st.from.Sub(before.to))})
		}
		if end-st.x > 150 {
			d.Ticks = append(d.Ticks, tick{X: end, Text: "+" + took(st.to.Sub(began)), End: true})
		}
		if i == 0 || end-st.x > 80 {
			d.Ticks = append(d.Ticks, tick{X: st.x, Text: "+" + took(st.from.Sub(began))})
		}
	}
}

// Points are the corners of a mark's diamond.
func (m mark) Points() string {
	const r = 5.5
	return fmt.Sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f", m.X, m.Y-r, m.X+r, m.Y, m.X, m.Y+r, m.X-r, m.Y)
}

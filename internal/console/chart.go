package console

import (
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// The chart's measures, in units of its own.
const (
	chartWidth  = 720.0
	chartHeight = 150.0
	chartTop    = 8.0
	chartLeft   = 44.0
	chartBottom = 22.0
)

// chart is stacked bars over time, with the same numbers as a table.
type chart struct {
	Bars   []bar
	Lines  []gridLine
	Ticks  []timeTick
	Series []series
	Rows   []chartRow // the newest first
	Label  string
	Empty  bool
}

type bar struct {
	X, Y, W, H float64
	Series     int
	Text       string
}

// timeTick is a time below the bars; the script writes it in the viewer's zone.
type timeTick struct {
	X            float64
	Text, At, As string
}

type gridLine struct {
	Y    float64
	Text string
}

type series struct {
	N     int
	Name  string
	Total int64
}

type chartRow struct {
	At time.Time
	N  []int64
}

// newChart draws values by time; each row has one number a series.
func newChart(label string, names []string, rows []chartRow, from, to time.Time, step time.Duration) *chart {
	c := &chart{Label: label, Empty: len(rows) == 0}
	for i, name := range names {
		c.Series = append(c.Series, series{N: i, Name: name})
	}
	from, to = from.Truncate(step), to.Add(step-1).Truncate(step)
	columns := int(to.Sub(from) / step)
	if columns < 1 {
		columns = 1
	}
	top := int64(0)
	for _, r := range rows {
		sum := int64(0)
		for i, n := range r.N {
			sum += n
			c.Series[i].Total += n
		}
		top = max(top, sum)
	}
	scale := niceTop(top)
	height, width := chartHeight-chartTop-chartBottom, (chartWidth-chartLeft)/float64(columns)
	for _, part := range []int64{0, 1, 2} {
		n := scale * part / 2
		c.Lines = append(c.Lines, gridLine{Y: chartTop + height - height*float64(n)/float64(scale), Text: compact(n)})
	}
	for _, r := range rows {
		column := int(r.At.Sub(from) / step)
		if column < 0 || column >= columns {
			continue
		}
		y := chartTop + height
		for i, n := range r.N {
			if n == 0 {
				continue
			}
			h := max(1, height*float64(n)/float64(scale))
			y -= h
			text := c.Series[i].Name + ": " + grouped(n)
			c.Bars = append(c.Bars, bar{X: chartLeft + float64(column)*width + width*0.1, Y: y, W: max(1, width*0.8), H: h, Series: i, Text: text})
		}
	}
	layout, as := "15:04 UTC", "hour"
	if step >= 24*time.Hour || to.Sub(from) > 48*time.Hour {
		layout, as = "Jan 2", "day"
	}
	for every, i := max(1, columns/5), 0; i < columns-columns/10; i += every {
		at := from.Add(time.Duration(i) * step).UTC()
		c.Ticks = append(c.Ticks, timeTick{X: chartLeft + (float64(i)+0.5)*width, Text: at.Format(layout), At: at.Format(time.RFC3339), As: as})
	}
	for i := len(rows) - 1; i >= 0; i-- {
		c.Rows = append(c.Rows, rows[i])
	}
	return c
}

// niceTop is a round number that is even and not below the highest bar.
func niceTop(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, f := range []int64{2, 4, 6, 10} {
			if unit*f >= n {
				return unit * f
			}
		}
	}
}

// compact writes a large number in few characters.
func compact(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= u.of {
			whole, tenth := n/u.of, n%u.of*10/u.of
			if tenth == 0 {
				return grouped(whole) + u.name
			}
			return grouped(whole) + "." + grouped(tenth) + u.name
		}
	}
	return grouped(n)
}

// answersChart draws how requests were answered.
func answersChart(times []onceward.TimeReport, from, to time.Time, step time.Duration) *chart {
	var rows []chartRow
	for _, t := range times {
		at, n := t.From.Truncate(step), []int64{t.Fresh, t.Replayed, t.Joined, t.Escalated, t.Blocked}
		if last := len(rows) - 1; last >= 0 && rows[last].At.Equal(at) {
			add(rows[last].N, n)
		} else {
			rows = append(rows, chartRow{at, n})
		}
	}
	return newChart(word("chart.answers"), list("answer.", "fresh", "replayed", "joined", "escalated", "blocked"), rows, from, to, step)
}

// endsChart draws how long operations took from their claim to their end.
func endsChart(ends []onceward.EndReport, from, to time.Time, step time.Duration) *chart {
	var rows []chartRow
	for _, e := range ends {
		w := e.Within
		at, n := e.From.Truncate(step), []int64{w[0], w[1], w[2], w[3] + w[4], w[5] + w[6]}
		if last := len(rows) - 1; last >= 0 && rows[last].At.Equal(at) {
			add(rows[last].N, n)
		} else {
			rows = append(rows, chartRow{at, n})
		}
	}
	return newChart(word("chart.ends"), list("ended.", "1s", "10s", "1m", "1h", "later"), rows, from, to, step)
}

func add(to, more []int64) {
	for i := range to {
		to[i] += more[i]
	}
}

func list(prefix string, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = word(prefix + strings.ToLower(n))
	}
	return out
}

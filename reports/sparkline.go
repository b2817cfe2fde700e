package reports

import (
	"math"
	"strings"
)

// Sparkline draws values as one line of block characters, width columns wide, for a
// display that follows a run. The highest value of all is the highest block; each column
// shows the highest of the values that fall on it, so that no peak is lost, and anything
// above zero shows. Fewer values than columns leave the rest blank.
func Sparkline(values []float64, width int) string {
	const blocks = "▁▂▃▄▅▆▇█"
	levels := []rune(blocks)
	highest := 0.0
	for _, v := range values {
		highest = math.Max(highest, v)
	}
	var b strings.Builder
	columns := min(len(values), max(width, 0))
	for i := range columns {
		peak := 0.0
		for _, v := range values[i*len(values)/columns : (i+1)*len(values)/columns] {
			peak = math.Max(peak, v)
		}
		switch {
		case peak > 0:
			b.WriteRune(levels[min(int(peak/highest*float64(len(levels))), len(levels)-1)])
		default:
			b.WriteByte('_')
		}
	}
	b.WriteString(strings.Repeat(" ", max(width, 0)-columns))
	return b.String()
}

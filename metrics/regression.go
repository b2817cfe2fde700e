package metrics

import "math"

// In a sample no two cells differ in one axis alone, so levels of an axis differ in the
// others, too. There the effect of each axis is taken from the plane that fits best: the
// logarithm of the figure against all axes at once.

// slopes returns the effect of every numeric axis over the sample, by its index; nothing if
// the runs are too few or the axes too much alike to tell their effects apart.
func (s *Sweep) slopes(path, broker string) map[int]Effect {
	var axes []int
	for i, a := range s.Axes {
		if a.Numeric && len(a.Values) > 1 {
			axes = append(axes, i)
		}
	}
	var rows [][]float64 // 1, the axes, the figure
	for _, r := range s.Runs {
		y, ok := logOf(r, path)
		if r.Broker != broker || !ok {
			continue
		}
		row := []float64{1}
		for _, i := range axes {
			row = append(row, s.Axes[i].scaled(r.Point[i]))
		}
		rows = append(rows, append(row, y))
	}
	b := leastSquares(rows, len(axes)+1)
	if b == nil {
		return nil
	}
	out := map[int]Effect{}
	for k, i := range axes {
		a := s.Axes[i]
		first, last := a.Values[0], a.Values[len(a.Values)-1]
		span := b[k+1] * (a.scaled(last) - a.scaled(first))
		e := Effect{Axis: a.Name, Factor: math.Exp(math.Abs(span)), Low: first, High: last}
		if span < 0 {
			e.Low, e.High = last, first
		}
		out[i] = e
	}
	return out
}

// scaled returns the value of an axis as the plane takes it: its logarithm if all are above
// zero.
func (a Axis) scaled(value string) float64 {
	v := a.Number(value)
	if a.Number(a.Values[0]) > 0 {
		return math.Log(v)
	}
	return v
}

// logOf returns the logarithm of a figure of a run, and whether there is one.
func logOf(r SweepRun, path string) (float64, bool) {
	if r.Result == nil {
		return 0, false
	}
	v, isTime, err := r.Result.Lookup(path)
	if err != nil || isTime && v < 0 {
		return 0, false
	}
	if isTime {
		return math.Log(math.Max(v, timeFloor)), true
	}
	return math.Log(math.Max(v, countFloor)), true
}

// leastSquares returns the coefficients that come closest to the last column of the rows
// from their first n; nil if those do not determine them.
func leastSquares(rows [][]float64, n int) []float64 {
	if len(rows) <= n {
		return nil
	}
	// The normal equations, of which the last column is the right hand side.
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n+1)
		for j := range m[i] {
			for _, r := range rows {
				m[i][j] += r[i] * r[j]
			}
		}
	}
	for col := range n {
		pivot := col
		for i := col; i < n; i++ {
			if math.Abs(m[i][col]) > math.Abs(m[pivot][col]) {
				pivot = i
			}
		}
		m[col], m[pivot] = m[pivot], m[col]
		if math.Abs(m[col][col]) < 1e-9 {
			return nil
		}
		for i := range n {
			if i == col {
				continue
			}
			f := m[i][col] / m[col][col]
			for j := col; j <= n; j++ {
				m[i][j] -= f * m[col][j]
			}
		}
	}
	b := make([]float64, n)
	for i := range b {
		b[i] = m[i][n] / m[i][i]
	}
	return b
}

package builtin

import "math"

// regression holds the sums of the two-argument statistics (corr, covar_*,
// regr_*) by the Youngs-Cramer recurrence. The first argument is y, the second x.
type regression struct {
	n, sx, sxx, sy, syy, sxy float64
	final                    func(s *regression) (Datum, error)
}

func special(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }

func (s *regression) Step(_ *Call, args []Datum) error {
	y, x := args[0].Float(), args[1].Float()
	oldN, oldSx, oldSy := s.n, s.sx, s.sy
	s.n++
	s.sx += x
	s.sy += y
	if oldN == 0 {
		if special(x) {
			s.sxx, s.sxy = math.NaN(), math.NaN()
		}
		if special(y) {
			s.syy, s.sxy = math.NaN(), math.NaN()
		}
		return nil
	}
	tmpX, tmpY, scale := x*s.n-s.sx, y*s.n-s.sy, 1/(s.n*oldN)
	s.sxx += tmpX * tmpX * scale
	s.syy += tmpY * tmpY * scale
	s.sxy += tmpX * tmpY * scale
	xInf := math.IsInf(s.sx, 0) || math.IsInf(s.sxx, 0)
	yInf := math.IsInf(s.sy, 0) || math.IsInf(s.syy, 0)
	if xInf || yInf || math.IsInf(s.sxy, 0) {
		xFinite := !math.IsInf(oldSx, 0) && !math.IsInf(x, 0)
		yFinite := !math.IsInf(oldSy, 0) && !math.IsInf(y, 0)
		if xInf && xFinite || yInf && yFinite || math.IsInf(s.sxy, 0) && xFinite && yFinite {
			return floatOverflow()
		}
		for _, sum := range []*float64{&s.sxx, &s.syy, &s.sxy} {
			if math.IsInf(*sum, 0) {
				*sum = math.NaN()
			}
		}
	}
	return nil
}

func (s *regression) Final(*Call, []Datum) (Datum, error) {
	if s.n < 1 {
		return isNull()
	}
	return s.final(s)
}

func init() {
	table := aggTable{}
	for name, final := range map[string]func(s *regression) (Datum, error){
		"regr_sxx":  func(s *regression) (Datum, error) { return float(s.sxx) },
		"regr_syy":  func(s *regression) (Datum, error) { return float(s.syy) },
		"regr_sxy":  func(s *regression) (Datum, error) { return float(s.sxy) },
		"regr_avgx": func(s *regression) (Datum, error) { return float(s.sx / s.n) },
		"regr_avgy": func(s *regression) (Datum, error) { return float(s.sy / s.n) },
		"covar_pop": func(s *regression) (Datum, error) { return float(s.sxy / s.n) },
		"covar_samp": func(s *regression) (Datum, error) {
			if s.n < 2 {
				return isNull()
			}
			return float(s.sxy / (s.n - 1))
		},
		"corr": func(s *regression) (Datum, error) {
			if s.sxx == 0 || s.syy == 0 {
				return isNull()
			}
			return float(s.sxy / math.Sqrt(s.sxx*s.syy))
		},
		"regr_r2": func(s *regression) (Datum, error) {
			switch {
			case s.sxx == 0:
				return isNull()
			case s.syy == 0:
				return float(1)
			}
			return float((s.sxy * s.sxy) / (s.sxx * s.syy))
		},
		"regr_slope": func(s *regression) (Datum, error) {
			if s.sxx == 0 {
				return isNull()
			}
			return float(s.sxy / s.sxx)
		},
		"regr_intercept": func(s *regression) (Datum, error) {
			if s.sxx == 0 {
				return isNull()
			}
			return float((s.sy - s.sx*s.sxy/s.sxx) / s.n)
		},
	} {
		table[name+"(float8,float8)"] = func(*Call) AggState { return &regression{final: final} }
	}
	table.registerSkipNull()
}

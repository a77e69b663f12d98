package sqltypes

import (
	"strconv"

	"ostraka/sqltypes/pgerror"
)

// Interval field masks of a typmod's range part (PostgreSQL's INTERVAL_MASK bits).
const (
	maskMonth  = 1 << 1
	maskYear   = 1 << 2
	maskDay    = 1 << 3
	maskHour   = 1 << 10
	maskMinute = 1 << 11
	maskSecond = 1 << 12

	// IntervalFullRange and IntervalFullPrecision stand for "not given".
	IntervalFullRange     = 0x7FFF
	IntervalFullPrecision = 0xFFFF
)

// NumericTypMod encodes numeric(precision, scale).
func NumericTypMod(precision, scale int) int32 {
	return int32(precision<<16|scale&0x7FF) + 4
}

// NumericPrecisionScale decodes a numeric typmod; ok is false for plain numeric.
func NumericPrecisionScale(typmod int32) (precision, scale int, ok bool) {
	if typmod < 4 {
		return 0, 0, false
	}
	t := int(typmod - 4)
	return t >> 16 & 0xFFFF, (t&0x7FF ^ 1024) - 1024, true
}

// IntervalTypMod encodes interval fields (a mask, IntervalFullRange for all) and
// a seconds precision (-1: not given).
func IntervalTypMod(fields, precision int) int32 {
	if precision < 0 {
		if fields == IntervalFullRange {
			return -1
		}
		precision = IntervalFullPrecision
	}
	return int32(fields<<16 | precision&0xFFFF)
}

// IntervalFieldsPrecision decodes an interval typmod; precision is -1 when none was given.
func IntervalFieldsPrecision(typmod int32) (fields, precision int) {
	if typmod < 0 {
		return IntervalFullRange, -1
	}
	fields, precision = int(typmod>>16&0x7FFF), int(typmod&0xFFFF)
	if precision == IntervalFullPrecision {
		precision = -1
	}
	return fields, precision
}

// EncodeTypMod turns the modifiers written after a type name — numeric(10,2) →
// [10 2] — into its typmod (the type's typmodin). For interval, mods are the
// field mask and optionally the precision, as the parser gives them.
// clamp: the note PostgreSQL would give as a WARNING when a precision was cut to 6, or "".
func EncodeTypMod(t *Type, mods []int32) (typmod int32, clamp string, err error) {
	if len(mods) == 0 {
		return -1, "", nil
	}
	base := t
	if t.IsArray && t.ElemType != nil && t.Len == -1 {
		base = t.ElemType
	}
	switch base.OID {
	case OIDVarchar, OIDBpchar:
		name := "varchar"
		if base.OID == OIDBpchar {
			name = "char"
		}
		if len(mods) != 1 {
			return 0, "", invalidTypMod()
		}
		if mods[0] < 1 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "length for type %s must be at least 1", name)
		}
		if mods[0] > 10485760 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "length for type %s cannot exceed %d", name, 10485760)
		}
		return mods[0] + 4, "", nil
	case OIDBit, OIDVarbit:
		name := "bit"
		if base.OID == OIDVarbit {
			name = "varbit"
		}
		if len(mods) != 1 {
			return 0, "", invalidTypMod()
		}
		if mods[0] < 1 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "length for type %s must be at least 1", name)
		}
		if mods[0] > 83886080 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "length for type %s cannot exceed %d", name, 83886080)
		}
		return mods[0], "", nil
	case OIDNumeric:
		scale := int32(0)
		switch len(mods) {
		case 1:
		case 2:
			scale = mods[1]
		default:
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "invalid NUMERIC type modifier")
		}
		if mods[0] < 1 || mods[0] > 1000 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "NUMERIC precision %d must be between 1 and 1000", mods[0])
		}
		if scale < -1000 || scale > 1000 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "NUMERIC scale %d must be between -1000 and 1000", scale)
		}
		return NumericTypMod(int(mods[0]), int(scale)), "", nil
	case OIDTime, OIDTimetz, OIDTimestamp, OIDTimestamptz:
		if len(mods) != 1 {
			return 0, "", invalidTypMod()
		}
		name, tz := "TIME", ""
		if base.OID == OIDTimestamp || base.OID == OIDTimestamptz {
			name = "TIMESTAMP"
		}
		if base.OID == OIDTimetz || base.OID == OIDTimestamptz {
			tz = " WITH TIME ZONE"
		}
		if mods[0] < 0 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "%s(%d)%s precision must not be negative", name, mods[0], tz)
		}
		if mods[0] > 6 {
			return 6, name + "(" + strconv.Itoa(int(mods[0])) + ")" + tz + " precision reduced to maximum allowed, 6", nil
		}
		return mods[0], "", nil
	case OIDInterval:
		fields, prec := int(mods[0]), -1
		if len(mods) > 2 || fields&^IntervalFullRange != 0 {
			return 0, "", pgerror.New(pgerror.InvalidParameterValue, "invalid INTERVAL type modifier")
		}
		if len(mods) == 2 {
			prec = int(mods[1])
			if prec < 0 {
				return 0, "", pgerror.New(pgerror.InvalidParameterValue, "INTERVAL(%d) precision must not be negative", prec)
			}
			if prec > 6 {
				return IntervalTypMod(fields, 6), "INTERVAL(" + strconv.Itoa(prec) + ") precision reduced to maximum allowed, 6", nil
			}
		}
		return IntervalTypMod(fields, prec), "", nil
	}
	return 0, "", pgerror.New(pgerror.SyntaxError, "type modifier is not allowed for type \"%s\"", t.Name)
}

func invalidTypMod() error {
	return pgerror.New(pgerror.InvalidParameterValue, "invalid type modifier")
}

// TypModOut writes a typmod as it stands after the type's name: "(10,2)", " day to second(3)".
func TypModOut(oid OID, typmod int32) string {
	if typmod < 0 {
		return ""
	}
	switch oid {
	case OIDVarchar, OIDBpchar:
		if typmod > 4 {
			return "(" + strconv.Itoa(int(typmod-4)) + ")"
		}
	case OIDBit, OIDVarbit:
		return "(" + strconv.Itoa(int(typmod)) + ")"
	case OIDNumeric:
		if p, s, ok := NumericPrecisionScale(typmod); ok {
			return "(" + strconv.Itoa(p) + "," + strconv.Itoa(s) + ")"
		}
	case OIDTime, OIDTimestamp:
		return "(" + strconv.Itoa(int(typmod)) + ") without time zone"
	case OIDTimetz, OIDTimestamptz:
		return "(" + strconv.Itoa(int(typmod)) + ") with time zone"
	case OIDInterval:
		fields, prec := IntervalFieldsPrecision(typmod)
		s := intervalFieldNames[fields]
		if prec >= 0 {
			s += "(" + strconv.Itoa(prec) + ")"
		}
		return s
	case OIDBool, OIDInt2, OIDInt4, OIDInt8, OIDFloat4, OIDFloat8:
	default: // a type that has no modifiers shows what it was given
		return "(" + strconv.Itoa(int(typmod)) + ")"
	}
	return ""
}

var intervalFieldNames = map[int]string{
	maskYear: " year", maskMonth: " month", maskDay: " day", maskHour: " hour", maskMinute: " minute", maskSecond: " second",
	maskYear | maskMonth:                         " year to month",
	maskDay | maskHour:                           " day to hour",
	maskDay | maskHour | maskMinute:              " day to minute",
	maskDay | maskHour | maskMinute | maskSecond: " day to second",
	maskHour | maskMinute:                        " hour to minute",
	maskHour | maskMinute | maskSecond:           " hour to second",
	maskMinute | maskSecond:                      " minute to second",
	IntervalFullRange:                            "",
}

package sqltypes

// scalarCodecs maps typinput to the behaviour of the types that use it.
// It is a function, not a variable: codecs look types up, and a variable would
// make that an initialisation cycle.
func scalarCodecs() map[string]codec {
	return map[string]codec{
		"boolin":          boolCodec(),
		"int2in":          int2Codec(),
		"int4in":          int4Codec(),
		"int8in":          int8Codec(),
		"oidin":           oidCodec("oid"),
		"xidin":           xidCodec(),
		"cidin":           xidCodec(),
		"xid8in":          xid8Codec(),
		"charin":          charCodec(),
		"numeric_in":      numericCodec(),
		"byteain":         byteaCodec(),
		"uuid_in":         uuidCodec(),
		"bit_in":          bitCodec(BitLength),
		"varbit_in":       bitCodec(VarbitLength),
		"cash_in":         moneyCodec(),
		"tidin":           tidCodec(),
		"pg_lsn_in":       lsnCodec(),
		"inet_in":         inetCodec(false),
		"cidr_in":         inetCodec(true),
		"macaddr_in":      macaddrCodec(),
		"macaddr8_in":     macaddr8Codec(),
		"float4in":        float4Codec(),
		"float8in":        float8Codec(),
		"textin":          textCodec(),
		"varcharin":       varcharCodec(),
		"bpcharin":        bpcharCodec(),
		"namein":          nameCodec(),
		"unknownin":       cstringCodec(),
		"cstring_in":      cstringCodec(),
		"regprocin":       regCodec(OIDRegproc),
		"regprocedurein":  regCodec(OIDRegprocedure),
		"regoperin":       regCodec(OIDRegoper),
		"regoperatorin":   regCodec(OIDRegoperator),
		"regclassin":      regCodec(OIDRegclass),
		"regtypein":       regCodec(OIDRegtype),
		"regconfigin":     regCodec(OIDRegconfig),
		"regdictionaryin": regCodec(OIDRegdictionary),
		"regnamespacein":  regCodec(OIDRegnamespace),
		"regrolein":       regCodec(OIDRegrole),
		"regcollationin":  regCodec(OIDRegcollation),
	}
}

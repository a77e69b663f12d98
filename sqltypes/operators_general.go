package sqltypes

// polymorphicClassType is the pseudo-type whose operator classes serve a
// built-in array, range, multirange or composite type, or 0.
func polymorphicClassType(typ OID) OID {
	switch typ {
	case 143, 199, 210, 270, 271, 272, 273, 629, 651, 719, 775, 791, 1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008,
		1009, 1010, 1011, 1012, 1013, 1014, 1015, 1016, 1017, 1018, 1019, 1020, 1021, 1022, 1027, 1028, 1034, 1040, 1041, 1115,
		1182, 1183, 1185, 1187, 1231, 1263, 1270, 1561, 1563, 2201, 2207, 2208, 2209, 2210, 2211, 2287, 2949, 2951, 3221, 3643,
		3644, 3645, 3735, 3770, 3807, 3905, 3907, 3909, 3911, 3913, 3927, 4073, 4090, 4097, 4192, 5039:
		return 2277
	case 3904, 3906, 3908, 3910, 3912, 3926:
		return 3831
	case 4451, 4532, 4533, 4534, 4535, 4536:
		return 4537
	}
	return 0
}

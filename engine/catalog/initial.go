package catalog

// initialPrivileges are what the owner and PUBLIC have on a new object, by the
// letter that acldefault takes.
var initialPrivileges = map[byte]struct{ owner, public string }{
	'c': {}, 'r': {owner: "arwdDxt"}, 's': {owner: "rwU"}, 'd': {"CTc", "Tc"}, 'f': {"X", "X"}, 'l': {"U", "U"}, 'L': {owner: "rw"},
	'n': {owner: "UC"}, 'p': {owner: "sA"}, 't': {owner: "C"}, 'F': {owner: "U"}, 'S': {owner: "U"}, 'T': {"U", "U"},
}

// InitialPrivileges are what the owner and PUBLIC have on a new object of a kind:
// c column, r table, s sequence, d database, f function, l language, L large
// object, n schema, p parameter, t tablespace, F foreign-data wrapper, S foreign
// server, T type. ok is false for other letters.
func InitialPrivileges(kind byte) (owner, public string, ok bool) {
	p, ok := initialPrivileges[kind]
	return p.owner, p.public, ok
}

package ddl

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// Properties of columns that PostgreSQL's storage has and this one does not: they
// are checked, kept and shown.

// setStorage is SET STORAGE.
func (b *builder) setStorage(col *catalog.Column, name string) error {
	kind := map[string]byte{"plain": 'p', "external": 'e', "extended": 'x', "main": 'm'}[strings.ToLower(name)]
	if kind == 0 {
		return pgerror.New(pgerror.InvalidParameterValue, "invalid storage type %q", name)
	}
	if t := b.catalog().Type(col.Type.OID); t != nil && t.Len >= 0 && kind != 'p' {
		return pgerror.New(pgerror.FeatureNotSupported, "column data type %s can only have storage PLAIN", b.typeName(t.OID))
	}
	col.Storage = kind
	return nil
}

// setCompression is COMPRESSION method of a column.
func (b *builder) setCompression(col *catalog.Column, method string) error {
	if method == "" || method == "default" {
		col.Compression = 0
		return nil
	}
	if t := b.catalog().Type(col.Type.OID); t != nil && t.Len >= 0 {
		return pgerror.New(pgerror.FeatureNotSupported, "column data type %s does not support compression", b.typeName(t.OID))
	}
	switch method {
	case "pglz", "lz4":
		col.Compression = method[0]
		return nil
	}
	return pgerror.New(pgerror.InvalidParameterValue, "invalid compression method %q", method)
}

// setColumnOptions is ALTER COLUMN … SET (…) and RESET (…).
func setColumnOptions(col *catalog.Column, cmd *pg.AlterTableCmd) error {
	reset := cmd.Subtype == pg.AlterTableType_AT_ResetOptions
	for _, n := range cmd.Def.GetList().GetItems() {
		d := n.GetDefElem()
		if reset && d.Arg != nil {
			return pgerror.New(pgerror.SyntaxError, "RESET must not include values for parameters")
		}
		if !reset {
			if d.Defname != "n_distinct" && d.Defname != "n_distinct_inherited" {
				return invalidOption("unrecognized parameter %q", d.Defname)
			}
			v, err := strconv.ParseFloat(defText(d), 64)
			if err != nil {
				return invalidOption("invalid value for floating point option %q: %s", d.Defname, defText(d))
			}
			if v < -1 {
				return invalidOption("value %s out of bounds for option %q", defText(d), d.Defname)
			}
		}
		col.Options = slices.DeleteFunc(slices.Clone(col.Options), func(o string) bool { return strings.HasPrefix(o, d.Defname+"=") })
		if !reset {
			col.Options = append(col.Options, d.Defname+"="+defText(d))
		}
	}
	return nil
}

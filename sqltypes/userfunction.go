package sqltypes

import "ostraka/sqltypes/pgerror"

// runUser executes user-defined functions; nil until a front end has set it.
var runUser struct {
	scalar ScalarFunc
	set    SetFunc
}

// RegisterUserFunctions sets what runs the functions that users have defined in a
// language; it is called at initialisation.
func RegisterUserFunctions(scalar ScalarFunc, set SetFunc) { runUser.scalar, runUser.set = scalar, set }

// LangPLpgSQL is the OID of language plpgsql in pg_language.
const LangPLpgSQL OID = 13563

// UserFunction is Proc.Fn of user-defined functions.
func UserFunction(c *Call, args []Datum) (Datum, error) {
	if runUser.scalar == nil || c.Env == nil || c.Env.Session == nil {
		return Null, pgerror.NotSupported("calling function %s here", c.Proc.Name)
	}
	return runUser.scalar(c, args)
}

// UserSetFunction is Proc.Set of user-defined functions that return sets.
func UserSetFunction(c *Call, args []Datum) (RowSource, error) {
	if runUser.set == nil || c.Env == nil || c.Env.Session == nil {
		return nil, pgerror.NotSupported("calling function %s here", c.Proc.Name)
	}
	return runUser.set(c, args)
}

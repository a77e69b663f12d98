package docstore

import (
	"ostraka/sqltypes/pgerror"
)

// invalid is 22023, what is wrong with an argument.
func invalid(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, format, args...)
}

func noCollection(name string) error {
	return pgerror.New(pgerror.UndefinedTable, "collection %q does not exist", name)
}

func notReadable(name string) error {
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for collection %s", name)
}

// maxMemory bounds what one sort, group or collected answer holds, in bytes.
const maxMemory = 512 << 20

func errMemory(what string) error {
	return pgerror.New(pgerror.OutOfMemory, "out of memory").WithDetail("A document %s may hold %d MB.", what, maxMemory>>20)
}

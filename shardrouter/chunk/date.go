package chunk

import (
	"time"

	"ostraka/docstore"
	"ostraka/sqltypes"
)

func dateOf(v sqltypes.JSON) (time.Time, bool) { return docstore.DateOf(v) }

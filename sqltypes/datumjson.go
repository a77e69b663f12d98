package sqltypes

import "encoding/json"

// datumJSON is how a Datum stands inside a stored catalogue descriptor (a
// column's missing value, statistics): S as base64, since it may be any bytes.
type datumJSON struct {
	S    []byte `json:"s,omitempty"`
	I    int64  `json:"i,omitempty"`
	Aux  int32  `json:"a,omitempty"`
	Null bool   `json:"n,omitempty"`
}

func (d Datum) MarshalJSON() ([]byte, error) {
	return json.Marshal(datumJSON{[]byte(d.S), d.I, d.Aux, d.Null})
}

func (d *Datum) UnmarshalJSON(b []byte) error {
	var j datumJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*d = Datum{S: string(j.S), I: j.I, Aux: j.Aux, Null: j.Null}
	return nil
}

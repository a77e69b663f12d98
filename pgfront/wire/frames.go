package wire

import (
	"strconv"

	"ostraka/sqltypes/pgerror"
)

// Transaction states of ReadyForQuery.
const (
	StatusIdle   byte = 'I'
	StatusBlock  byte = 'T'
	StatusFailed byte = 'E'
)

func (o *Out) empty(t byte) {
	o.Begin(t)
	o.End()
}

func (o *Out) ParseComplete()      { o.empty('1') }
func (o *Out) BindComplete()       { o.empty('2') }
func (o *Out) CloseComplete()      { o.empty('3') }
func (o *Out) NoData()             { o.empty('n') }
func (o *Out) EmptyQueryResponse() { o.empty('I') }
func (o *Out) PortalSuspended()    { o.empty('s') }
func (o *Out) CopyDone()           { o.empty('c') }

func (o *Out) ReadyForQuery(status byte) {
	o.Begin('Z')
	o.Byte(status)
	o.End()
}

func (o *Out) CommandComplete(tag string) {
	o.Begin('C')
	o.String(tag)
	o.End()
}

// CommandCompleteCount writes "<tag> <n>".
func (o *Out) CommandCompleteCount(tag string, n int64) {
	o.Begin('C')
	o.buf = append(o.buf, tag...)
	o.buf = append(o.buf, ' ')
	o.buf = strconv.AppendInt(o.buf, n, 10)
	o.Byte(0)
	o.End()
}

func (o *Out) ParameterStatus(name, value string) {
	o.Begin('S')
	o.String(name)
	o.String(value)
	o.End()
}

func (o *Out) BackendKeyData(pid, secret int32) {
	o.Begin('K')
	o.Int32(pid)
	o.Int32(secret)
	o.End()
}

// Authentication writes an AuthenticationXxx message.
func (o *Out) Authentication(kind int32, data []byte) {
	o.Begin('R')
	o.Int32(kind)
	o.Bytes(data)
	o.End()
}

func (o *Out) ParameterDescription(oids []uint32) {
	o.Begin('t')
	o.Int16(int16(len(oids)))
	for _, oid := range oids {
		o.Uint32(oid)
	}
	o.End()
}

// CopyResponse writes CopyInResponse ('G'), CopyOutResponse ('H'): all columns have one format.
func (o *Out) CopyResponse(kind byte, binary bool, columns int) {
	o.Begin(kind)
	format := int16(0)
	if binary {
		format = 1
	}
	o.Byte(byte(format))
	o.Int16(int16(columns))
	for range columns {
		o.Int16(format)
	}
	o.End()
}

func (o *Out) CopyData(b []byte) {
	o.Begin('d')
	o.Bytes(b)
	o.End()
}

func (o *Out) Notification(pid int32, channel, payload string) {
	o.Begin('A')
	o.Int32(pid)
	o.String(channel)
	o.String(payload)
	o.End()
}

// ErrorResponse writes every field that e has; severity "" means ERROR.
func (o *Out) ErrorResponse(e *pgerror.Error) {
	severity := e.Severity
	if severity == "" {
		severity = "ERROR"
	}
	o.Begin('E')
	o.fields(severity, e)
	o.End()
}

// NoticeResponse is ErrorResponse for NOTICE, WARNING and so on.
func (o *Out) NoticeResponse(e *pgerror.Error) {
	severity := e.Severity
	if severity == "" {
		severity = "NOTICE"
	}
	o.Begin('N')
	o.fields(severity, e)
	o.End()
}

func (o *Out) fields(severity string, e *pgerror.Error) {
	o.field('S', severity)
	o.field('V', severity)
	o.field('C', string(e.Code))
	o.Byte('M')
	o.String(e.Message)
	o.field('D', e.Detail)
	o.field('H', e.Hint)
	o.number('P', e.Position)
	o.number('p', e.InternalPosition)
	o.field('q', e.InternalQuery)
	o.field('W', e.Where)
	o.field('s', e.Schema)
	o.field('t', e.Table)
	o.field('c', e.Column)
	o.field('d', e.DataType)
	o.field('n', e.Constraint)
	o.Byte(0)
}

func (o *Out) field(kind byte, s string) {
	if s != "" {
		o.Byte(kind)
		o.String(s)
	}
}

func (o *Out) number(kind byte, n int) {
	if n > 0 {
		o.Byte(kind)
		o.String(strconv.Itoa(n))
	}
}

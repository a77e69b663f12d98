package node

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/sqltypes"
)

// auditRecord is one call that changed, or was to change, the cluster: a line of JSON.
type auditRecord struct {
	At       time.Time `json:"at"`
	User     string    `json:"user"`
	Role     string    `json:"role,omitempty"`
	Client   string    `json:"client,omitempty"`
	Function string    `json:"function"`
	Args     []string  `json:"args,omitempty"`
	Error    string    `json:"error,omitempty"` // why it was refused or failed
}

// The log is this node's file of the calls that it was asked for, bounded: beyond
// maxAuditBytes it is renamed to audit.log.1, replacing the one before. The view
// ostraka.audit_log shows the newest maxAuditRecords.
const (
	maxAuditBytes   = 4 << 20
	maxAuditRecords = 1000
)

type auditLog struct {
	path string
	mu   sync.Mutex
	f    *os.File      // guarded by mu
	size int64         // guarded by mu
	last []auditRecord // guarded by mu
}

func openAuditLog(path string) (*auditLog, error) {
	a := &auditLog{path: path}
	for _, p := range []string{path + ".1", path} {
		if err := a.read(p); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
	}
	return a, a.open()
}

func (a *auditLog) open() (err error) {
	if a.f, err = os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	st, err := a.f.Stat()
	if err == nil {
		a.size = st.Size()
	}
	return err
}

func (a *auditLog) read(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r auditRecord
		if json.Unmarshal(sc.Bytes(), &r) == nil { // the last line may be torn
			a.keep(r)
		}
	}
	return sc.Err()
}

func (a *auditLog) keep(r auditRecord) {
	if a.last = append(a.last, r); len(a.last) > 2*maxAuditRecords {
		a.last = append([]auditRecord(nil), a.last[maxAuditRecords:]...)
	}
}

// add writes a record; a call that cannot be recorded is not to be made.
func (a *auditLog) add(r auditRecord) error {
	r.At = time.Now().UTC()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size+int64(len(line)) > maxAuditBytes {
		err = errors.Join(a.f.Close(), os.Rename(a.path, a.path+".1"), a.open())
	}
	if err == nil {
		_, err = a.f.Write(line)
	}
	if err == nil {
		err = a.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	a.size += int64(len(line))
	a.keep(r)
	return nil
}

func (a *auditLog) records() []auditRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := max(0, len(a.last)-maxAuditRecords)
	return append([]auditRecord(nil), a.last[n:]...)
}

func (a *auditLog) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}

// registerAudit adds the view ostraka.audit_log.
func (n *Node) registerAudit(s *syscat.Set) {
	s.Add(&catalog.Relation{OID: 13997, Name: "audit_log", Schema: catalog.SchemaOstraka, Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole,
		Columns: columns("at", sqltypes.OIDTimestamptz, "usename", sqltypes.OIDText, "role", sqltypes.OIDText, "client", sqltypes.OIDText,
			"function", sqltypes.OIDText, "arguments", sqltypes.OIDJsonb, "error", sqltypes.OIDText)}, "ostraka", true,
		func(q *syscat.Query, emit syscat.Emit) error {
			jsonb := sqltypes.TypeByOID(sqltypes.OIDJsonb)
			for _, r := range n.audit.records() {
				args := sqltypes.Null
				if text, err := json.Marshal(r.Args); err == nil {
					if args, err = jsonb.In(nil, string(text), -1); err != nil {
						return err
					}
				}
				emit(timestamp(r.At), sqltypes.Text(r.User), textOrNull(r.Role), textOrNull(r.Client), sqltypes.Text(r.Function), args, textOrNull(r.Error))
			}
			return nil
		})
}

package session

import (
	"math"
	"net"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"

	_ "ostraka/sqltypes/builtin" // registered first: what follows replaces its session-less versions
)

// Functions of a session's own: they find it through Env.Session.Ext().
func init() {
	reg := func(src string, f func(s *Session, c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error)) {
		sqltypes.RegisterScalar(src, func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
			s, ok := sessionOf(c)
			if !ok {
				return sqltypes.Null, pgerror.NotSupported("%s outside of a session", c.Proc.Name)
			}
			return f(s, c, args)
		})
	}
	reg("pg_sleep", func(s *Session, c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.Text(""), s.sleep(args[0].Float())
	})
	reg("pg_backend_pid", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.Int(int64(s.pid)), nil
	})
	for src, of := range map[string]func(s *Session) net.Addr{
		"inet_client_addr": func(s *Session) net.Addr { return s.client.Remote },
		"inet_server_addr": func(s *Session) net.Addr { return s.client.Local },
	} {
		reg(src, func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
			if a, ok := of(s).(*net.TCPAddr); ok {
				return sqltypes.ParseInet(a.AddrPort().Addr().Unmap().WithZone("").String())
			}
			return sqltypes.Null, nil
		})
		reg(strings.TrimSuffix(src, "addr")+"port", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
			if a, ok := of(s).(*net.TCPAddr); ok {
				return sqltypes.Int(int64(a.Port)), nil
			}
			return sqltypes.Null, nil
		})
	}
	for _, src := range []string{"pg_postmaster_start_time", "pg_conf_load_time"} { // the configuration is read once, at the start
		reg(src, func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
			if s.deps.Started.IsZero() {
				return sqltypes.Null, nil
			}
			return sqltypes.Int(micros(s.deps.Started)), nil
		})
	}
	reg("pg_cancel_backend", func(s *Session, _ *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		return s.signal(args[0].I, "cancel", (*Session).Cancel)
	})
	reg("pg_terminate_backend", func(s *Session, _ *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		return s.terminateBackend(args)
	})
	reg("pg_notify", func(s *Session, _ *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		channel, payload := "", ""
		if !args[0].Null {
			channel = args[0].S
		}
		if len(args) > 1 && !args[1].Null {
			payload = args[1].S
		}
		return sqltypes.Text(""), s.Notify(channel, payload)
	})
	reg("pg_current_xact_id", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		if err := s.beginTxn(); err != nil {
			return sqltypes.Null, err
		}
		x, err := s.tx.txn.Xid(s.env.Ctx)
		return sqltypes.Int(int64(x)), err
	})
	reg("pg_current_xact_id_if_assigned", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		if s.tx.txn == nil || s.tx.txn.XidIfAssigned() == 0 {
			return sqltypes.Null, nil
		}
		return sqltypes.Int(int64(s.tx.txn.XidIfAssigned())), nil
	})
	reg("xid_age", func(s *Session, _ *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		if args[0].I < 3 { // no transaction's
			return sqltypes.Int(math.MaxInt32), nil
		}
		e, ok := s.deps.Engine.(interface{ LatestXid() uint64 })
		if !ok {
			return sqltypes.Null, pgerror.NotSupported("function age")
		}
		now := e.LatestXid() + 1
		if s.tx.txn != nil && s.tx.txn.XidIfAssigned() != 0 {
			now = s.tx.txn.XidIfAssigned()
		}
		return sqltypes.Int(int64(int32(uint32(now) - uint32(args[0].I)))), nil
	})
	reg("pg_trigger_depth", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.Int(int64(s.triggerDepth)), nil
	})
	reg("pg_my_temp_schema", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.Int(int64(s.tempOID)), nil
	})
	reg("pg_is_in_recovery", func(*Session, *sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.Bool(false), nil
	})
	reg("pg_notification_queue_usage", func(*Session, *sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.Float(0), nil
	})
	reg("pg_client_encoding", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		v, _ := s.set.Get("client_encoding")
		return sqltypes.Text(v), nil
	})
	sqltypes.RegisterSet("pg_listening_channels", func(c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.RowSource, error) {
		s, ok := sessionOf(c)
		if !ok {
			return &texts{}, nil
		}
		return &texts{list: s.ListeningChannels()}, nil
	})
	registerAdvisory(reg)
}

func sessionOf(c *sqltypes.Call) (*Session, bool) {
	if c.Env == nil || c.Env.Session == nil {
		return nil, false
	}
	s, ok := c.Env.Session.Ext().(*Session)
	return s, ok
}

// texts yields strings as rows.
type texts struct {
	list []string
	row  [1]sqltypes.Datum
}

func (t *texts) Next() ([]sqltypes.Datum, bool, error) {
	if len(t.list) == 0 {
		return nil, false, nil
	}
	t.row[0] = sqltypes.Text(t.list[0])
	t.list = t.list[1:]
	return t.row[:], true, nil
}

// sleep is pg_sleep: it ends early only by cancellation.
func (s *Session) sleep(seconds float64) error {
	if !(seconds > 0) {
		return nil
	}
	d := time.Duration(math.MaxInt64)
	if seconds < 9e9 {
		d = time.Duration(seconds * float64(time.Second))
	}
	s.out.Flush()
	t := time.NewTimer(d)
	defer t.Stop()
	s.wait("Timeout", "PgSleep")
	defer s.wait("", "")
	select {
	case <-t.C:
		return nil
	case <-s.env.Ctx.Done():
		return errContextCanceled
	}
}

// wait shows what the session waits for in pg_stat_activity.
func (s *Session) wait(kind, event string) {
	s.mu.Lock()
	s.act.waitType, s.act.wait = kind, event
	s.mu.Unlock()
}

// signal lets a session act on another one, as pg_cancel_backend may.
func (s *Session) signal(pid int64, what string, f func(*Session)) (sqltypes.Datum, error) {
	t := s.deps.Registry.Session(int32(pid))
	if t == nil {
		s.warn(pgerror.Warning, "PID %d is not a PostgreSQL server process", pid)
		return sqltypes.Bool(false), nil
	}
	if t.client.Role.Super && !s.role.Super {
		return sqltypes.Null, pgerror.New(pgerror.InsufficientPrivilege, "must be a superuser to %s superuser %s", what, map[string]string{"cancel": "query", "terminate": "process"}[what])
	}
	if t.client.Role.OID != s.role.OID && !s.role.Super && !s.MemberOf(t.client.Role.OID) {
		return sqltypes.Null, pgerror.New(pgerror.InsufficientPrivilege, "must be a member of the role whose %s or member of pg_signal_backend",
			map[string]string{"cancel": "query is being canceled", "terminate": "process is being terminated"}[what])
	}
	f(t)
	return sqltypes.Bool(true), nil
}

func (s *Session) terminateBackend(args []sqltypes.Datum) (sqltypes.Datum, error) {
	timeout := int64(0)
	if len(args) > 1 {
		timeout = args[1].I
	}
	if timeout < 0 {
		return sqltypes.Null, pgerror.New(pgerror.NumericValueOutOfRange, `"timeout" must not be negative`)
	}
	r, err := s.signal(args[0].I, "terminate", (*Session).Terminate)
	if err != nil || !r.Bool() || timeout == 0 {
		return r, err
	}
	deadline := time.NewTimer(time.Duration(timeout) * time.Millisecond)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.deps.Registry.Session(int32(args[0].I)) == nil {
			return r, nil
		}
		select {
		case <-tick.C:
		case <-s.env.Ctx.Done():
			return sqltypes.Null, errContextCanceled
		case <-deadline.C:
			s.warn(pgerror.Warning, "backend with PID %d did not terminate within %d milliseconds", args[0].I, timeout)
			return sqltypes.Bool(false), nil
		}
	}
}

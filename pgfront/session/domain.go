package session

import (
	"ostraka/expr"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
)

var _ sqltypes.DomainChecker = (*Session)(nil)

// domainChecks are the compiled constraints of domains, for one state of the
// catalogue; nil programs for domains without any.
type domainChecks struct {
	version  uint64
	progs    map[sqltypes.OID]*expr.Program
	checking bool
}

// CheckDomain implements sqltypes.DomainChecker.
func (s *Session) CheckDomain(domain sqltypes.OID, d sqltypes.Datum) error {
	cat := s.catalog()
	c := &s.domains
	if cat == nil || c.checking {
		return nil
	}
	if c.progs == nil || c.version != cat.Version {
		c.progs, c.version = map[sqltypes.OID]*expr.Program{}, cat.Version
	}
	// Literals within the constraints are not checked by them.
	c.checking = true
	defer func() { c.checking = false }()
	p, ok := c.progs[domain]
	if !ok {
		e, err := bind.DomainValue(s.planContext(cat, "", nil), domain)
		if err != nil {
			return err
		}
		if e != nil {
			if p, err = expr.Compile(e, cat.Type); err != nil {
				return err
			}
		}
		c.progs[domain] = p
	}
	if p == nil {
		return nil
	}
	_, err := p.Row([]sqltypes.Datum{d}, &expr.Params{}, &s.env)
	return err
}

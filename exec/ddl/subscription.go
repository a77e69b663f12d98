package ddl

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// Subscriptions are kept and shown, and never enabled: what would need the other
// server is refused by name.

// subscriptionOptions are the options of a statement, nil where not given.
type subscriptionOptions struct {
	connect, enabled, createSlot, copyData, refresh *bool
	slot                                            *string // "": NONE
}

// readSubscriptionOptions is parse_subscription_options.
func readSubscriptionOptions(list []*pg.Node, allowed []string, s *catalog.Subscription) (o subscriptionOptions, err error) {
	seen := map[string]bool{}
	for _, n := range list {
		d := n.GetDefElem()
		if !slices.Contains(allowed, d.Defname) {
			return o, pgerror.New(pgerror.SyntaxError, "unrecognized subscription parameter: %q", d.Defname)
		}
		if seen[d.Defname] {
			return o, pgerror.New(pgerror.SyntaxError, "conflicting or redundant options")
		}
		seen[d.Defname] = true
		flag := func() *bool {
			v, e := boolOption(d)
			if err = e; err != nil {
				return nil
			}
			return &v
		}
		set := func(to *bool) {
			if v := flag(); v != nil {
				*to = *v
			}
		}
		switch d.Defname {
		case "connect":
			o.connect = flag()
		case "enabled":
			o.enabled = flag()
		case "create_slot":
			o.createSlot = flag()
		case "copy_data":
			o.copyData = flag()
		case "refresh":
			o.refresh = flag()
		case "slot_name":
			name := defText(d)
			if strings.EqualFold(name, "none") {
				name = ""
			} else if err = slotName(name); err != nil {
				return o, err
			}
			o.slot = &name
		case "synchronous_commit":
			s.SyncCommit = defText(d)
			if !slices.Contains([]string{"local", "remote_write", "remote_apply", "on", "off", "true", "false"}, strings.ToLower(s.SyncCommit)) {
				return o, pgerror.New(pgerror.InvalidParameterValue, "invalid value for parameter \"synchronous_commit\": %q", s.SyncCommit).
					WithHint("Available values: local, remote_write, remote_apply, on, off.")
			}
		case "binary":
			set(&s.Binary)
		case "streaming":
			set(&s.Stream)
		case "two_phase":
			set(&s.TwoPhase)
		case "disable_on_error":
			set(&s.DisableOnError)
		case "lsn":
			if s.SkipLSN, err = readLSN(defText(d)); err != nil {
				return o, err
			}
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// readLSN reads a position to skip; NONE is none.
func readLSN(text string) (uint64, error) {
	if strings.EqualFold(text, "none") {
		return 0, nil
	}
	hi, lo, ok := strings.Cut(text, "/")
	h, e1 := strconv.ParseUint(hi, 16, 32)
	l, e2 := strconv.ParseUint(lo, 16, 32)
	switch v := h<<32 | l; {
	case !ok || e1 != nil || e2 != nil:
		return 0, pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type %s: %q", "pg_lsn", text)
	case v == 0:
		return 0, pgerror.New(pgerror.InvalidParameterValue, "invalid WAL location (LSN): %s", text)
	default:
		return v, nil
	}
}

func slotName(name string) error {
	switch {
	case name == "":
		return pgerror.New(pgerror.InvalidName, "replication slot name %q is too short", name)
	case len(name) > maxIdent:
		return pgerror.New(pgerror.NameTooLong, "replication slot name %q is too long", name)
	}
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return pgerror.New(pgerror.InvalidName, "replication slot name %q contains invalid character", name).
				WithHint("Replication slot names may only contain lower case letters, numbers, and the underscore character.")
		}
	}
	return nil
}

// conninfo is the check of a connection string's form (libpq's).
func conninfo(s string) error {
	if strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") {
		return nil
	}
	for rest := strings.TrimSpace(s); rest != ""; {
		word := rest
		if i := strings.IndexAny(rest, "= \t\n"); i >= 0 {
			word = rest[:i]
		}
		rest = strings.TrimLeft(rest[len(word):], " \t\n")
		if !strings.HasPrefix(rest, "=") {
			return pgerror.New(pgerror.SyntaxError, "invalid connection string syntax: missing \"=\" after %q in connection info string\n", word)
		}
		rest = strings.TrimLeft(rest[1:], " \t\n")
		if strings.HasPrefix(rest, "'") {
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				return pgerror.New(pgerror.SyntaxError, "invalid connection string syntax: unterminated quoted string in connection info string\n")
			}
			rest = rest[end+2:]
		} else if i := strings.IndexAny(rest, " \t\n"); i >= 0 {
			rest = rest[i:]
		} else {
			rest = ""
		}
		rest = strings.TrimLeft(rest, " \t\n")
	}
	return nil
}

func given(b *bool, v bool) bool { return b != nil && *b == v }

func exclusive(a, b string) error {
	return pgerror.New(pgerror.SyntaxError, "%s and %s are mutually exclusive options", a, b)
}

// createSubscription is CREATE SUBSCRIPTION … WITH (connect = false).
func (r *run) createSubscription(n *pg.CreateSubscriptionStmt) error {
	s := &catalog.Subscription{DB: r.catalog().DB, Name: truncateIdent(n.Subname), Owner: r.role(), Conninfo: n.Conninfo, SyncCommit: "off"}
	o, err := readSubscriptionOptions(n.Options, []string{"connect", "enabled", "create_slot", "slot_name", "copy_data", "synchronous_commit", "binary", "streaming", "two_phase", "disable_on_error"}, s)
	if err != nil {
		return err
	}
	offline := given(o.connect, false)
	slot := s.Name
	if o.slot != nil {
		slot = *o.slot
	}
	switch {
	case offline && given(o.enabled, true):
		return exclusive("connect = false", "enabled = true")
	case offline && given(o.createSlot, true):
		return exclusive("connect = false", "create_slot = true")
	case offline && given(o.copyData, true):
		return exclusive("connect = false", "copy_data = true")
	case o.slot != nil && slot == "" && given(o.enabled, true):
		return exclusive("slot_name = NONE", "enabled = true")
	case o.slot != nil && slot == "" && given(o.createSlot, true):
		return exclusive("slot_name = NONE", "create_slot = true")
	case o.slot != nil && slot == "" && !offline && !given(o.enabled, false):
		return pgerror.New(pgerror.SyntaxError, "subscription with %s must also set %s", "slot_name = NONE", "enabled = false")
	case o.slot != nil && slot == "" && !offline && !given(o.createSlot, false):
		return pgerror.New(pgerror.SyntaxError, "subscription with %s must also set %s", "slot_name = NONE", "create_slot = false")
	}
	if !r.isSuper() {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create subscriptions")
	}
	if err := r.claim(6100, s.Name); err != nil {
		return err
	}
	if r.catalog().SubscriptionByName(s.Name) != nil {
		return pgerror.New(pgerror.DuplicateObject, "subscription %q already exists", s.Name)
	}
	if s.Publications, err = publicationNames(n.Publication); err != nil {
		return err
	}
	if err := conninfo(s.Conninfo); err != nil {
		return err
	}
	if !offline {
		return pgerror.NotSupported("CREATE SUBSCRIPTION that connects to the publisher (logical replication)")
	}
	s.Slot = slot
	if s.OID, err = r.newOID(); err != nil {
		return err
	}
	r.s.NoticeError(&pgerror.Error{Severity: "WARNING", Code: pgerror.Warning,
		Message: "tables were not subscribed, you will have to run ALTER SUBSCRIPTION ... REFRESH PUBLICATION to subscribe the tables"})
	r.schema().PutSubscription(s)
	return nil
}

func publicationNames(list []*pg.Node) ([]string, error) {
	var out []string
	for _, name := range strs(list) {
		if slices.Contains(out, name) {
			return nil, pgerror.New(pgerror.DuplicateObject, "publication name %q used more than once", name)
		}
		out = append(out, name)
	}
	return out, nil
}

// ownSubscription finds a subscription of the current role; the copy may be changed.
func (r *run) ownSubscription(name string) (*catalog.Subscription, error) {
	s := r.catalog().SubscriptionByName(name)
	if s == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "subscription %q does not exist", name)
	}
	if !r.hasRole(s.Owner) {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of subscription %s", name)
	}
	c := *s
	c.Publications = slices.Clone(s.Publications)
	return &c, nil
}

// alterSubscription is ALTER SUBSCRIPTION.
func (r *run) alterSubscription(n *pg.AlterSubscriptionStmt) error {
	s, err := r.ownSubscription(n.Subname)
	if err != nil {
		return err
	}
	switch n.Kind {
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_OPTIONS:
		o, err := readSubscriptionOptions(n.Options, []string{"slot_name", "synchronous_commit", "binary", "streaming", "disable_on_error"}, s)
		if err != nil {
			return err
		}
		if o.slot != nil {
			s.Slot = *o.slot
		}
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_CONNECTION:
		if err := conninfo(n.Conninfo); err != nil {
			return err
		}
		s.Conninfo = n.Conninfo
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_SET_PUBLICATION, pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_ADD_PUBLICATION,
		pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_DROP_PUBLICATION:
		if err := r.subscribed(n, s); err != nil {
			return err
		}
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_REFRESH:
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "ALTER SUBSCRIPTION ... REFRESH is not allowed for disabled subscriptions")
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_ENABLED:
		o, err := readSubscriptionOptions(n.Options, []string{"enabled"}, s)
		if err != nil {
			return err
		}
		switch {
		case !given(o.enabled, true):
		case s.Slot == "":
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "cannot enable subscription that does not have a slot name")
		default:
			return pgerror.NotSupported("ALTER SUBSCRIPTION ENABLE (logical replication)")
		}
	default:
		if !r.isSuper() {
			return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to skip transaction")
		}
		if _, err := readSubscriptionOptions(n.Options, []string{"lsn"}, s); err != nil {
			return err
		}
	}
	r.schema().PutSubscription(s)
	return nil
}

// subscribed is SET, ADD and DROP PUBLICATION.
func (r *run) subscribed(n *pg.AlterSubscriptionStmt, s *catalog.Subscription) error {
	o, err := readSubscriptionOptions(n.Options, []string{"copy_data", "refresh"}, s)
	if err != nil {
		return err
	}
	names, err := publicationNames(n.Publication)
	if err != nil {
		return err
	}
	verb := "SET"
	switch n.Kind {
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_ADD_PUBLICATION:
		verb = "ADD"
		for _, name := range names {
			if slices.Contains(s.Publications, name) {
				return pgerror.New(pgerror.DuplicateObject, "publication %q is already in subscription %q", name, s.Name)
			}
		}
		names = append(s.Publications, names...)
	case pg.AlterSubscriptionType_ALTER_SUBSCRIPTION_DROP_PUBLICATION:
		verb = "DROP"
		left := s.Publications
		for _, name := range names {
			at := slices.Index(left, name)
			if at < 0 {
				return pgerror.New(pgerror.InvalidObjectDefinition, "publication %q is not in subscription %q", name, s.Name)
			}
			left = slices.Delete(left, at, at+1)
		}
		if len(left) == 0 {
			return pgerror.New(pgerror.InvalidParameterValue, "cannot drop all the publications from a subscription")
		}
		names = left
	}
	if !given(o.refresh, false) {
		e := pgerror.New(pgerror.ObjectNotInPrerequisiteState, "ALTER SUBSCRIPTION with refresh is not allowed for disabled subscriptions")
		if verb == "SET" {
			return e.WithHint("Use ALTER SUBSCRIPTION ... SET PUBLICATION ... WITH (refresh = false).")
		}
		return e.WithHint("Use ALTER SUBSCRIPTION ... %s PUBLICATION ... WITH (refresh = false) instead.", verb)
	}
	s.Publications = names
	return nil
}

// dropSubscription is DROP SUBSCRIPTION.
func (r *run) dropSubscription(n *pg.DropSubscriptionStmt) error {
	if n.MissingOk && r.catalog().SubscriptionByName(n.Subname) == nil {
		r.notice("subscription %q does not exist, skipping", n.Subname)
		return nil
	}
	s, err := r.ownSubscription(n.Subname)
	if err != nil {
		return err
	}
	if s.Slot != "" {
		return pgerror.New(pgerror.ConnectionFailure, "could not connect to publisher when attempting to drop replication slot %q: logical replication is not supported", s.Slot).
			WithHint("Use %s to disable the subscription, and then use %s to disassociate it from the slot.", "ALTER SUBSCRIPTION ... DISABLE", "ALTER SUBSCRIPTION ... SET (slot_name = NONE)")
	}
	r.schema().DropSubscription(s.OID)
	return nil
}

func (r *run) renameSubscription(old, name string) error {
	s, err := r.ownSubscription(old)
	if err != nil {
		return err
	}
	if r.catalog().SubscriptionByName(name) != nil {
		return pgerror.New(pgerror.DuplicateObject, "subscription %q already exists", name)
	}
	s.Name = name
	r.schema().PutSubscription(s)
	return nil
}

func (r *run) setSubscriptionOwner(name string, to *catalog.Role) error {
	s, err := r.ownSubscription(name)
	if err != nil {
		return err
	}
	if !to.Super {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to change owner of subscription %q", s.Name).
			WithHint("The owner of a subscription must be a superuser.")
	}
	s.Owner = to.OID
	r.schema().PutSubscription(s)
	return nil
}

func (r *run) commentSubscription(name, text string) error {
	s, err := r.ownSubscription(name)
	if err != nil {
		return err
	}
	s.Comment = text
	r.schema().PutSubscription(s)
	return nil
}

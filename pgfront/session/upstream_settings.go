package session

import (
	"strings"

	"ostraka/pgfront/settings"
)

// forgetSettings notes that a rollback there may have undone settings.
func (u *upstream) forgetSettings() {
	for name := range u.tried {
		u.settings[name] = "\x00"
	}
	u.version = 0
}

// syncSettings tells the upstream session what this one has set.
func (s *Session) syncSettings() error {
	u := s.up
	if u.version == s.set.Version+1 {
		return nil
	}
	var sb strings.Builder
	now := map[string]string{}
	s.set.Changed(func(name, val string) { now[name] = val })
	if s.auth.OID != s.client.Role.OID {
		now["session_authorization"] = s.auth.Name
	}
	if v, _ := s.set.Get("role"); v != "" && v != "none" {
		now["role"] = v
	}
	tell := func(name string) {
		val, ok := now[name]
		was, had := u.settings[name]
		switch {
		case ok && (!had || was != val) && ownSetting(name): // what a SELECT waits for must not be in its own way
			sb.WriteString("SET " + name + " = " + quoteLiteral(val) + ";")
		case ok && (!had || was != val):
			sb.WriteString("SELECT pg_catalog.set_config(" + quoteLiteral(name) + ", " + quoteLiteral(val) + ", false);")
		case ok || !had:
			return
		case name == "session_authorization":
			sb.WriteString("RESET SESSION AUTHORIZATION;")
		case name == "role":
			sb.WriteString("SET ROLE NONE;")
		default:
			sb.WriteString("RESET " + name + ";")
		}
		u.tried[name] = true
		if name == "session_authorization" {
			delete(u.settings, "role") // it sets the role to none
		}
	}
	for _, all := range []map[string]string{now, u.settings} {
		for name := range all {
			if ownSetting(name) {
				tell(name)
			}
		}
	}
	// Who acts comes last: it decides what may be set. It comes first when the right to set has to come back.
	who := []string{"session_authorization", "role"}
	back := u.settings["session_authorization"] != now["session_authorization"] && now["session_authorization"] == "" || now["role"] == ""
	if back {
		tell(who[0])
		tell(who[1])
	}
	for name := range now {
		if name != who[0] && name != who[1] && !ownSetting(name) {
			tell(name)
		}
	}
	for name := range u.settings {
		if _, ok := now[name]; !ok && !ownSetting(name) && name != who[0] && name != who[1] {
			tell(name)
		}
	}
	if !back {
		tell(who[0])
		tell(who[1])
	}
	if sb.Len() > 0 {
		if err := s.runUpstream(sb.String(), nil); err != nil {
			return err
		}
	}
	u.settings, u.version, u.encoding = now, s.set.Version+1, s.conf.encoding
	return nil
}

// ownSetting reports one of Ostraka's parameters; all of them are plain words.
func ownSetting(name string) bool {
	return strings.HasPrefix(name, "ostraka.") && settings.Lookup(name) != nil
}

func quoteLiteral(v string) string {
	q := "'" + strings.ReplaceAll(v, "'", "''") + "'"
	if strings.Contains(v, `\`) {
		q = " E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

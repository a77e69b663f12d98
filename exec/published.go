package exec

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// identifiable refuses UPDATE and DELETE of a table whose publications need to tell
// its rows apart and cannot (CheckCmdReplicaIdentity). Errors: 55000, 42P10.
func identifiable(cat *catalog.Catalog, rel *catalog.Relation, del bool) (err error) {
	verb, word, how := "update", "updates", "updating"
	if del {
		verb, word, how = "delete from", "deletes", "deleting from"
	}
	identity, known := replicaIdentity(rel)
	cat.AllPublications(func(p *catalog.Publication) bool {
		t, in := p.Publishes(rel)
		if !in || del && !p.Delete || !del && !p.Update {
			return true
		}
		refuse := func(detail string) {
			err = pgerror.New(pgerror.InvalidColumnReference, `cannot %s table "%s"`, verb, rel.Name).WithDetail("%s", detail)
		}
		full := rel.ReplicaIdentity == 'f'
		if t != nil {
			for _, a := range t.WhereAttrs {
				if !full && !slices.Contains(identity, a) {
					refuse("Column used in the publication WHERE expression is not part of the replica identity.")
					return false
				}
			}
			if len(t.Columns) > 0 && (full || slices.ContainsFunc(identity, func(a int16) bool { return !slices.Contains(t.Columns, a) })) {
				refuse("Column list used by the publication does not cover the replica identity.")
				return false
			}
		}
		if !full && !known {
			err = pgerror.New(pgerror.ObjectNotInPrerequisiteState, `cannot %s table "%s" because it does not have a replica identity and publishes %s`, verb, rel.Name, word).
				WithHint("To enable %s the table, set REPLICA IDENTITY using ALTER TABLE.", how)
		}
		return err == nil
	})
	return err
}

// replicaIdentity are the columns by which rows are told apart; false: there are none.
func replicaIdentity(rel *catalog.Relation) ([]int16, bool) {
	for _, ix := range rel.Indexes {
		if rel.ReplicaIdentity == 0 && ix.Primary || rel.ReplicaIdentity == 'i' && ix.ReplicaIdentity {
			var out []int16
			for _, k := range ix.Keys {
				out = append(out, k.Attr)
			}
			return out, true
		}
	}
	return nil, false
}

package ddl

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

func (r *run) createDatabase(n *pg.CreatedbStmt) error {
	role := r.catalog().Role(r.role())
	if role == nil || !role.Super && !role.CreateDB {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to create database")
	}
	if err := r.claim(0, n.Dbname); err != nil {
		return err
	}
	if r.catalog().DatabaseByName(n.Dbname) != nil {
		return pgerror.New(pgerror.DuplicateDatabase, "database %q already exists", n.Dbname)
	}
	db := &catalog.Database{Name: truncateIdent(n.Dbname), Owner: role.OID, AllowConn: true, ConnLimit: -1}
	template := "template1"
	for _, o := range n.Options {
		d := o.GetDefElem()
		switch strings.ToLower(d.Defname) {
		case "owner":
			owner := r.catalog().RoleByName(defText(d))
			if owner == nil {
				return pgerror.New(pgerror.UndefinedObject, "role %q does not exist", defText(d))
			}
			db.Owner = owner.OID
		case "template":
			if d.Arg != nil {
				template = defText(d)
			}
		case "encoding":
			switch strings.ToUpper(strings.ReplaceAll(defText(d), "-", "")) {
			case "UTF8", "TRUE", "6", "SQL_ASCII":
			default:
				return pgerror.NotSupported("encoding %q", defText(d))
			}
		case "is_template":
			db.IsTemplate = defBool(d)
		case "allow_connections":
			db.AllowConn = defBool(d)
		case "connection_limit":
			v, err := defInt(d)
			if err != nil {
				return err
			}
			db.ConnLimit = int32(v)
		case "lc_collate", "lc_ctype", "locale", "tablespace", "strategy", "locale_provider", "icu_locale", "collation_version", "oid":
		default:
			return pgerror.New(pgerror.SyntaxError, "option %q not recognized", d.Defname)
		}
	}
	src := r.catalog().DatabaseByName(template)
	if src == nil {
		return pgerror.New(pgerror.UndefinedDatabase, "template database %q does not exist", template)
	}
	if !src.IsTemplate && !r.hasRole(src.Owner) {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied to copy database %q", template)
	}
	var err error
	if db.OID, err = r.newOID(); err != nil {
		return err
	}
	r.schema().PutDatabase(db)
	return r.schema().CopyDatabase(r.ctx, src.OID, db.OID)
}

func (r *run) dropDatabase(n *pg.DropdbStmt) error {
	db := r.catalog().DatabaseByName(n.Dbname)
	if db == nil {
		if n.MissingOk {
			r.notice("database %q does not exist, skipping", n.Dbname)
			return nil
		}
		return pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", n.Dbname)
	}
	if !r.hasRole(db.Owner) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of database %s", db.Name)
	}
	if db.OID == r.catalog().DB {
		return pgerror.New(pgerror.ObjectInUse, "cannot drop the currently open database")
	}
	if db.IsTemplate {
		return pgerror.New(pgerror.WrongObjectType, "cannot drop a template database")
	}
	r.schema().DropDatabase(db.OID)
	return nil
}

func (r *run) alterDatabaseSet(n *pg.AlterDatabaseSetStmt) error {
	db := r.catalog().DatabaseByName(n.Dbname)
	if db == nil {
		return pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", n.Dbname)
	}
	if !r.hasRole(db.Owner) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of database %s", db.Name)
	}
	cp := *db
	var err error
	if cp.Config, err = r.setConfig(db.Config, n.Setstmt); err != nil {
		return err
	}
	r.schema().PutDatabase(&cp)
	return nil
}

// Package ddl executes the statements that change the catalogue: CREATE, ALTER
// and DROP of every object kind, TRUNCATE, COMMENT, GRANT, ANALYZE.
//
// Every change goes through the transaction's CatalogWriter, so DDL commits and
// rolls back with everything else. Names are resolved and checked here;
// expressions inside definitions (defaults, checks, index expressions) are bound
// once to find errors and are stored as SQL text. The caller has classified the
// statement, started the statement in the transaction and makes it atomic by a
// savepoint. What is not there is refused by name (0A000).
package ddl

import (
	"context"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Session is what DDL needs from the session that runs it.
type Session interface {
	Txn() engine.Txn
	// PlanContext is a fresh planning context over the transaction's current catalogue.
	PlanContext() *planner.Context
	// Notice sends a NOTICE, WARNING … to the client.
	Notice(severity string, code pgerror.Code, message string)
	// NoticeError sends one with all its fields.
	NoticeError(e *pgerror.Error)
	// TempSchema returns the session's temporary schema, creating it if need be.
	TempSchema(ctx context.Context) (sqltypes.OID, error)
	// Query runs a SELECT in the transaction, as a statement of its own.
	Query(ctx context.Context, sql string) ([][]sqltypes.Datum, error)
	// QueryEach is Query for many rows; row is only valid during the call.
	QueryEach(ctx context.Context, sql string, f func(row []sqltypes.Datum) error) error
	// QueryNode is QueryEach for a syntax tree that may use the statement's parameters,
	// with the rights of a role (0: the current one).
	QueryNode(ctx context.Context, as sqltypes.OID, query *pg.Node, f func(row []sqltypes.Datum) error) error
	// WriteTarget prepares a table for writing (index expressions bound).
	WriteTarget(rel *catalog.Relation) (*engine.WriteTarget, error)
}

// run is one statement being executed.
type run struct {
	ctx context.Context
	s   Session
	txn engine.Txn
}

// Run executes one utility statement and returns its command tag.
func Run(ctx context.Context, s Session, node *pg.Node) (tag string, err error) {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	if r.catalog() == nil {
		return "", pgerror.New(pgerror.UndefinedDatabase, "the database of this session does not exist any more")
	}
	switch n := node.Node.(type) {
	case *pg.Node_CreateStmt:
		return "CREATE TABLE", r.createTable(n.CreateStmt)
	case *pg.Node_CreateSchemaStmt:
		return "CREATE SCHEMA", r.createSchema(n.CreateSchemaStmt)
	case *pg.Node_IndexStmt:
		return "CREATE INDEX", r.createIndex(n.IndexStmt)
	case *pg.Node_ViewStmt:
		return "CREATE VIEW", r.createView(n.ViewStmt)
	case *pg.Node_CreateSeqStmt:
		return "CREATE SEQUENCE", r.createSequence(n.CreateSeqStmt)
	case *pg.Node_AlterSeqStmt:
		return "ALTER SEQUENCE", r.alterSequence(n.AlterSeqStmt)
	case *pg.Node_AlterTableStmt:
		return alterTag(n.AlterTableStmt.Objtype), r.alterTable(n.AlterTableStmt)
	case *pg.Node_RenameStmt:
		return r.rename(n.RenameStmt)
	case *pg.Node_AlterObjectSchemaStmt:
		return r.setSchema(n.AlterObjectSchemaStmt)
	case *pg.Node_AlterOwnerStmt:
		return r.setOwner(n.AlterOwnerStmt)
	case *pg.Node_DropStmt:
		return r.drop(n.DropStmt)
	case *pg.Node_TruncateStmt:
		return "TRUNCATE TABLE", r.truncate(n.TruncateStmt)
	case *pg.Node_CommentStmt:
		return "COMMENT", r.comment(n.CommentStmt)
	case *pg.Node_CreateEnumStmt:
		return "CREATE TYPE", r.createEnum(n.CreateEnumStmt)
	case *pg.Node_AlterEnumStmt:
		return "ALTER TYPE", r.alterEnum(n.AlterEnumStmt)
	case *pg.Node_CompositeTypeStmt:
		return "CREATE TYPE", r.createComposite(n.CompositeTypeStmt)
	case *pg.Node_CreateRangeStmt:
		return "CREATE TYPE", r.createRange(n.CreateRangeStmt)
	case *pg.Node_CreateDomainStmt:
		return "CREATE DOMAIN", r.createDomain(n.CreateDomainStmt)
	case *pg.Node_AlterDomainStmt:
		return "ALTER DOMAIN", r.alterDomain(n.AlterDomainStmt)
	case *pg.Node_CreateRoleStmt:
		return "CREATE ROLE", r.createRole(n.CreateRoleStmt)
	case *pg.Node_AlterRoleStmt:
		return "ALTER ROLE", r.alterRole(n.AlterRoleStmt)
	case *pg.Node_AlterRoleSetStmt:
		return "ALTER ROLE", r.alterRoleSet(n.AlterRoleSetStmt)
	case *pg.Node_DropRoleStmt:
		return "DROP ROLE", r.dropRole(n.DropRoleStmt)
	case *pg.Node_GrantRoleStmt:
		return grantTag(n.GrantRoleStmt.IsGrant) + " ROLE", r.grantRole(n.GrantRoleStmt)
	case *pg.Node_GrantStmt:
		return grantTag(n.GrantStmt.IsGrant), r.grant(n.GrantStmt)
	case *pg.Node_AlterDefaultPrivilegesStmt:
		return "ALTER DEFAULT PRIVILEGES", r.alterDefaultPrivileges(n.AlterDefaultPrivilegesStmt)
	case *pg.Node_CreatedbStmt:
		return "CREATE DATABASE", r.createDatabase(n.CreatedbStmt)
	case *pg.Node_DropdbStmt:
		return "DROP DATABASE", r.dropDatabase(n.DropdbStmt)
	case *pg.Node_AlterDatabaseSetStmt:
		return "ALTER DATABASE", r.alterDatabaseSet(n.AlterDatabaseSetStmt)
	case *pg.Node_CreateFunctionStmt:
		if n.CreateFunctionStmt.IsProcedure {
			return "CREATE PROCEDURE", r.createFunction(n.CreateFunctionStmt)
		}
		return "CREATE FUNCTION", r.createFunction(n.CreateFunctionStmt)
	case *pg.Node_AlterFunctionStmt:
		return r.alterFunction(n.AlterFunctionStmt)
	case *pg.Node_DefineStmt:
		return r.define(n.DefineStmt)
	case *pg.Node_DropOwnedStmt:
		return "DROP OWNED", r.dropOwned(n.DropOwnedStmt)
	case *pg.Node_ReassignOwnedStmt:
		return "REASSIGN OWNED", r.reassignOwned(n.ReassignOwnedStmt)
	case *pg.Node_AlterOperatorStmt:
		return "ALTER OPERATOR", r.alterOperator(n.AlterOperatorStmt)
	case *pg.Node_CreateCastStmt:
		return "CREATE CAST", r.createCast(n.CreateCastStmt)
	case *pg.Node_VacuumStmt:
		if n.VacuumStmt.IsVacuumcmd {
			return "VACUUM", r.analyze(n.VacuumStmt)
		}
		return "ANALYZE", r.analyze(n.VacuumStmt)
	case *pg.Node_ReindexStmt:
		return "REINDEX", r.reindex(n.ReindexStmt)
	case *pg.Node_CreateTrigStmt:
		return "CREATE TRIGGER", r.createTrigger(n.CreateTrigStmt)
	case *pg.Node_CreatePublicationStmt:
		return "CREATE PUBLICATION", r.createPublication(n.CreatePublicationStmt)
	case *pg.Node_AlterPublicationStmt:
		return "ALTER PUBLICATION", r.alterPublication(n.AlterPublicationStmt)
	case *pg.Node_CreateSubscriptionStmt:
		return "CREATE SUBSCRIPTION", r.createSubscription(n.CreateSubscriptionStmt)
	case *pg.Node_AlterSubscriptionStmt:
		return "ALTER SUBSCRIPTION", r.alterSubscription(n.AlterSubscriptionStmt)
	case *pg.Node_DropSubscriptionStmt:
		return "DROP SUBSCRIPTION", r.dropSubscription(n.DropSubscriptionStmt)
	case *pg.Node_CreateStatsStmt:
		return "CREATE STATISTICS", r.createStatistics(n.CreateStatsStmt)
	case *pg.Node_AlterStatsStmt:
		return "ALTER STATISTICS", r.alterStatistics(n.AlterStatsStmt)
	case *pg.Node_CreatePolicyStmt:
		return "CREATE POLICY", r.createPolicy(n.CreatePolicyStmt)
	case *pg.Node_AlterPolicyStmt:
		return "ALTER POLICY", r.alterPolicy(n.AlterPolicyStmt)
	case *pg.Node_ClusterStmt:
		return "CLUSTER", r.cluster(n.ClusterStmt)
	}
	return "", refuse(node)
}

// define is CREATE of what a list of definitions makes.
func (r *run) define(n *pg.DefineStmt) (string, error) {
	switch n.Kind {
	case pg.ObjectType_OBJECT_AGGREGATE:
		return "CREATE AGGREGATE", r.createAggregate(n)
	case pg.ObjectType_OBJECT_OPERATOR:
		return "CREATE OPERATOR", r.createOperator(n)
	}
	return "", pgerror.NotSupported("CREATE %s", objectWord(n.Kind))
}

func grantTag(isGrant bool) string {
	if isGrant {
		return "GRANT"
	}
	return "REVOKE"
}

// refuse names the statement that is missing.
func refuse(node *pg.Node) error {
	name := strings.TrimPrefix(nodeName(node), "Node_")
	name = strings.TrimSuffix(name, "Stmt")
	if words, ok := statementWords[name]; ok {
		return pgerror.NotSupported("%s", words)
	}
	return pgerror.NotSupported("%s", splitWords(name))
}

// statementWords are the commands whose syntax node is not named like them.
var statementWords = map[string]string{
	"CreateTrig": "CREATE TRIGGER", "Rule": "CREATE RULE", "CreateFdw": "CREATE FOREIGN DATA WRAPPER", "AlterFdw": "ALTER FOREIGN DATA WRAPPER",
	"CreateForeignServer": "CREATE SERVER", "AlterForeignServer": "ALTER SERVER", "CreatePLang": "CREATE LANGUAGE", "CreateAm": "CREATE ACCESS METHOD",
	"CreateOpClass": "CREATE OPERATOR CLASS", "CreateOpFamily": "CREATE OPERATOR FAMILY", "AlterOpFamily": "ALTER OPERATOR FAMILY",
	"CreateConversion": "CREATE CONVERSION", "CreateStats": "CREATE STATISTICS", "AlterStats": "ALTER STATISTICS", "CreateTableSpace": "CREATE TABLESPACE",
	"DropTableSpace": "DROP TABLESPACE", "AlterTableSpaceOptions": "ALTER TABLESPACE", "CreateEventTrig": "CREATE EVENT TRIGGER",
	"AlterEventTrig": "ALTER EVENT TRIGGER", "AlterTsdictionary": "ALTER TEXT SEARCH DICTIONARY", "AlterTsconfiguration": "ALTER TEXT SEARCH CONFIGURATION",
	"AlterTSDictionary": "ALTER TEXT SEARCH DICTIONARY", "AlterTSConfiguration": "ALTER TEXT SEARCH CONFIGURATION", "SecLabel": "SECURITY LABEL",
	"AlterTableMoveAll": "ALTER TABLE ALL IN TABLESPACE", "AlterExtensionContents": "ALTER EXTENSION", "AlterObjectDepends": "ALTER ... DEPENDS ON EXTENSION",
	"AlterOperator": "ALTER OPERATOR", "AlterCollation": "ALTER COLLATION", "CreateUserMapping": "CREATE USER MAPPING",
}

// splitWords turns "CreateTrig" into "CREATE TRIG".
func splitWords(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}

func (r *run) catalog() *catalog.Catalog     { return r.txn.Catalog() }
func (r *run) schema() engine.CatalogWriter  { return r.txn.Schema() }
func (r *run) newOID() (sqltypes.OID, error) { return r.schema().NewOID(r.ctx) }
func (r *run) role() sqltypes.OID            { return r.s.PlanContext().Role }
func (r *run) notice(format string, args ...any) {
	r.s.Notice("NOTICE", pgerror.SuccessfulCompletion, sprintf(format, args...))
}

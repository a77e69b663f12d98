package parse

import (
	pg "github.com/pganalyze/pg_query_go/v5"
)

// objectWord is how command tags call a kind of object (AlterObjectTypeCommandTag).
var objectWord = map[pg.ObjectType]string{
	pg.ObjectType_OBJECT_AGGREGATE: "AGGREGATE", pg.ObjectType_OBJECT_ATTRIBUTE: "TYPE", pg.ObjectType_OBJECT_CAST: "CAST",
	pg.ObjectType_OBJECT_COLLATION: "COLLATION", pg.ObjectType_OBJECT_COLUMN: "TABLE", pg.ObjectType_OBJECT_CONVERSION: "CONVERSION",
	pg.ObjectType_OBJECT_DATABASE: "DATABASE", pg.ObjectType_OBJECT_DOMAIN: "DOMAIN", pg.ObjectType_OBJECT_DOMCONSTRAINT: "DOMAIN",
	pg.ObjectType_OBJECT_EXTENSION: "EXTENSION", pg.ObjectType_OBJECT_FDW: "FOREIGN DATA WRAPPER", pg.ObjectType_OBJECT_FOREIGN_SERVER: "SERVER",
	pg.ObjectType_OBJECT_FOREIGN_TABLE: "FOREIGN TABLE", pg.ObjectType_OBJECT_FUNCTION: "FUNCTION", pg.ObjectType_OBJECT_INDEX: "INDEX",
	pg.ObjectType_OBJECT_LANGUAGE: "LANGUAGE", pg.ObjectType_OBJECT_LARGEOBJECT: "LARGE OBJECT", pg.ObjectType_OBJECT_OPCLASS: "OPERATOR CLASS",
	pg.ObjectType_OBJECT_OPERATOR: "OPERATOR", pg.ObjectType_OBJECT_OPFAMILY: "OPERATOR FAMILY", pg.ObjectType_OBJECT_POLICY: "POLICY",
	pg.ObjectType_OBJECT_PROCEDURE: "PROCEDURE", pg.ObjectType_OBJECT_ROLE: "ROLE", pg.ObjectType_OBJECT_ROUTINE: "ROUTINE",
	pg.ObjectType_OBJECT_RULE: "RULE", pg.ObjectType_OBJECT_SCHEMA: "SCHEMA", pg.ObjectType_OBJECT_SEQUENCE: "SEQUENCE",
	pg.ObjectType_OBJECT_TABLE: "TABLE", pg.ObjectType_OBJECT_TABCONSTRAINT: "TABLE", pg.ObjectType_OBJECT_TABLESPACE: "TABLESPACE",
	pg.ObjectType_OBJECT_TRIGGER: "TRIGGER", pg.ObjectType_OBJECT_EVENT_TRIGGER: "EVENT TRIGGER", pg.ObjectType_OBJECT_TSCONFIGURATION: "TEXT SEARCH CONFIGURATION",
	pg.ObjectType_OBJECT_TSDICTIONARY: "TEXT SEARCH DICTIONARY", pg.ObjectType_OBJECT_TSPARSER: "TEXT SEARCH PARSER",
	pg.ObjectType_OBJECT_TSTEMPLATE: "TEXT SEARCH TEMPLATE", pg.ObjectType_OBJECT_TYPE: "TYPE", pg.ObjectType_OBJECT_VIEW: "VIEW",
	pg.ObjectType_OBJECT_MATVIEW: "MATERIALIZED VIEW", pg.ObjectType_OBJECT_PUBLICATION: "PUBLICATION", pg.ObjectType_OBJECT_SUBSCRIPTION: "SUBSCRIPTION",
	pg.ObjectType_OBJECT_STATISTIC_EXT: "STATISTICS", pg.ObjectType_OBJECT_ACCESS_METHOD: "ACCESS METHOD", pg.ObjectType_OBJECT_TRANSFORM: "TRANSFORM",
	pg.ObjectType_OBJECT_USER_MAPPING: "USER MAPPING",
}

// tagOf gives the command tag of a utility statement, or planned for statements
// that go through a plan (their tag comes from Plan.Command).
func tagOf(n *pg.Node) (tag string, planned bool) {
	switch s := n.Node.(type) {
	case *pg.Node_SelectStmt:
		if intoOf(s.SelectStmt) != nil {
			return "SELECT INTO", false
		}
		return "", true
	case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt:
		return "", true
	case *pg.Node_TransactionStmt:
		return transactionTag(s.TransactionStmt.Kind), false
	case *pg.Node_DeclareCursorStmt:
		return "DECLARE CURSOR", false
	case *pg.Node_ClosePortalStmt:
		if s.ClosePortalStmt.Portalname == "" {
			return "CLOSE CURSOR ALL", false
		}
		return "CLOSE CURSOR", false
	case *pg.Node_FetchStmt:
		if s.FetchStmt.Ismove {
			return "MOVE", false
		}
		return "FETCH", false
	case *pg.Node_DropStmt:
		return "DROP " + objectWord[s.DropStmt.RemoveType], false
	case *pg.Node_RenameStmt:
		t := s.RenameStmt.RenameType
		if t == pg.ObjectType_OBJECT_COLUMN || t == pg.ObjectType_OBJECT_ATTRIBUTE {
			t = s.RenameStmt.RelationType
		}
		if t == pg.ObjectType_OBJECT_TABCONSTRAINT {
			t = pg.ObjectType_OBJECT_TABLE
		}
		return "ALTER " + objectWord[t], false
	case *pg.Node_AlterObjectDependsStmt:
		return "ALTER " + objectWord[s.AlterObjectDependsStmt.ObjectType], false
	case *pg.Node_AlterObjectSchemaStmt:
		return "ALTER " + objectWord[s.AlterObjectSchemaStmt.ObjectType], false
	case *pg.Node_AlterOwnerStmt:
		return "ALTER " + objectWord[s.AlterOwnerStmt.ObjectType], false
	case *pg.Node_AlterTableStmt:
		return "ALTER " + objectWord[s.AlterTableStmt.Objtype], false
	case *pg.Node_AlterTableMoveAllStmt:
		return "ALTER " + objectWord[s.AlterTableMoveAllStmt.Objtype], false
	case *pg.Node_AlterFunctionStmt:
		return "ALTER " + objectWord[s.AlterFunctionStmt.Objtype], false
	case *pg.Node_DefineStmt:
		return "CREATE " + objectWord[s.DefineStmt.Kind], false
	case *pg.Node_GrantStmt:
		if s.GrantStmt.IsGrant {
			return "GRANT", false
		}
		return "REVOKE", false
	case *pg.Node_GrantRoleStmt:
		if s.GrantRoleStmt.IsGrant {
			return "GRANT ROLE", false
		}
		return "REVOKE ROLE", false
	case *pg.Node_CreateFunctionStmt:
		if s.CreateFunctionStmt.IsProcedure {
			return "CREATE PROCEDURE", false
		}
		return "CREATE FUNCTION", false
	case *pg.Node_CreateTableAsStmt:
		if s.CreateTableAsStmt.Objtype == pg.ObjectType_OBJECT_MATVIEW {
			return "CREATE MATERIALIZED VIEW", false
		}
		if s.CreateTableAsStmt.IsSelectInto {
			return "SELECT INTO", false
		}
		return "CREATE TABLE AS", false
	case *pg.Node_VariableSetStmt:
		switch s.VariableSetStmt.Kind {
		case pg.VariableSetKind_VAR_RESET, pg.VariableSetKind_VAR_RESET_ALL:
			return "RESET", false
		}
		return "SET", false
	case *pg.Node_DiscardStmt:
		switch s.DiscardStmt.Target {
		case pg.DiscardMode_DISCARD_PLANS:
			return "DISCARD PLANS", false
		case pg.DiscardMode_DISCARD_SEQUENCES:
			return "DISCARD SEQUENCES", false
		case pg.DiscardMode_DISCARD_TEMP:
			return "DISCARD TEMP", false
		}
		return "DISCARD ALL", false
	case *pg.Node_DeallocateStmt:
		if s.DeallocateStmt.Name == "" {
			return "DEALLOCATE ALL", false
		}
		return "DEALLOCATE", false
	case *pg.Node_VacuumStmt:
		if s.VacuumStmt.IsVacuumcmd {
			return "VACUUM", false
		}
		return "ANALYZE", false
	case *pg.Node_CopyStmt:
		return "COPY", false
	}
	return plainTags(n), false
}

func transactionTag(k pg.TransactionStmtKind) string {
	switch k {
	case pg.TransactionStmtKind_TRANS_STMT_BEGIN:
		return "BEGIN"
	case pg.TransactionStmtKind_TRANS_STMT_START:
		return "START TRANSACTION"
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT:
		return "COMMIT"
	case pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return "SAVEPOINT"
	case pg.TransactionStmtKind_TRANS_STMT_RELEASE:
		return "RELEASE"
	case pg.TransactionStmtKind_TRANS_STMT_PREPARE:
		return "PREPARE TRANSACTION"
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:
		return "COMMIT PREPARED"
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
		return "ROLLBACK PREPARED"
	}
	return "ROLLBACK"
}

// plainTags are the statements whose tag does not depend on their content.
func plainTags(n *pg.Node) string {
	switch n.Node.(type) {
	case *pg.Node_CreateSchemaStmt:
		return "CREATE SCHEMA"
	case *pg.Node_CreateStmt:
		return "CREATE TABLE"
	case *pg.Node_CreateForeignTableStmt:
		return "CREATE FOREIGN TABLE"
	case *pg.Node_CreateTableSpaceStmt:
		return "CREATE TABLESPACE"
	case *pg.Node_DropTableSpaceStmt:
		return "DROP TABLESPACE"
	case *pg.Node_AlterTableSpaceOptionsStmt:
		return "ALTER TABLESPACE"
	case *pg.Node_CreateExtensionStmt:
		return "CREATE EXTENSION"
	case *pg.Node_AlterExtensionStmt, *pg.Node_AlterExtensionContentsStmt:
		return "ALTER EXTENSION"
	case *pg.Node_CreateFdwStmt:
		return "CREATE FOREIGN DATA WRAPPER"
	case *pg.Node_AlterFdwStmt:
		return "ALTER FOREIGN DATA WRAPPER"
	case *pg.Node_CreateForeignServerStmt:
		return "CREATE SERVER"
	case *pg.Node_AlterForeignServerStmt:
		return "ALTER SERVER"
	case *pg.Node_CreateUserMappingStmt:
		return "CREATE USER MAPPING"
	case *pg.Node_AlterUserMappingStmt:
		return "ALTER USER MAPPING"
	case *pg.Node_DropUserMappingStmt:
		return "DROP USER MAPPING"
	case *pg.Node_ImportForeignSchemaStmt:
		return "IMPORT FOREIGN SCHEMA"
	case *pg.Node_CreatePolicyStmt:
		return "CREATE POLICY"
	case *pg.Node_AlterPolicyStmt:
		return "ALTER POLICY"
	case *pg.Node_CreateAmStmt:
		return "CREATE ACCESS METHOD"
	case *pg.Node_CreateTrigStmt:
		return "CREATE TRIGGER"
	case *pg.Node_CreateEventTrigStmt:
		return "CREATE EVENT TRIGGER"
	case *pg.Node_AlterEventTrigStmt:
		return "ALTER EVENT TRIGGER"
	case *pg.Node_CreatePlangStmt:
		return "CREATE LANGUAGE"
	case *pg.Node_CreateRoleStmt:
		return "CREATE ROLE"
	case *pg.Node_AlterRoleStmt, *pg.Node_AlterRoleSetStmt:
		return "ALTER ROLE"
	case *pg.Node_DropRoleStmt:
		return "DROP ROLE"
	case *pg.Node_CreateSeqStmt:
		return "CREATE SEQUENCE"
	case *pg.Node_AlterSeqStmt:
		return "ALTER SEQUENCE"
	case *pg.Node_CreateDomainStmt:
		return "CREATE DOMAIN"
	case *pg.Node_AlterDomainStmt:
		return "ALTER DOMAIN"
	case *pg.Node_CreateOpClassStmt:
		return "CREATE OPERATOR CLASS"
	case *pg.Node_CreateOpFamilyStmt:
		return "CREATE OPERATOR FAMILY"
	case *pg.Node_AlterOpFamilyStmt:
		return "ALTER OPERATOR FAMILY"
	case *pg.Node_AlterOperatorStmt:
		return "ALTER OPERATOR"
	case *pg.Node_AlterTypeStmt:
		return "ALTER TYPE"
	case *pg.Node_TruncateStmt:
		return "TRUNCATE TABLE"
	case *pg.Node_CommentStmt:
		return "COMMENT"
	case *pg.Node_SecLabelStmt:
		return "SECURITY LABEL"
	case *pg.Node_IndexStmt:
		return "CREATE INDEX"
	case *pg.Node_CreateStatsStmt:
		return "CREATE STATISTICS"
	case *pg.Node_AlterStatsStmt:
		return "ALTER STATISTICS"
	case *pg.Node_DoStmt:
		return "DO"
	case *pg.Node_CallStmt:
		return "CALL"
	case *pg.Node_RuleStmt:
		return "CREATE RULE"
	case *pg.Node_NotifyStmt:
		return "NOTIFY"
	case *pg.Node_ListenStmt:
		return "LISTEN"
	case *pg.Node_UnlistenStmt:
		return "UNLISTEN"
	case *pg.Node_CompositeTypeStmt, *pg.Node_CreateEnumStmt, *pg.Node_CreateRangeStmt:
		return "CREATE TYPE"
	case *pg.Node_AlterEnumStmt:
		return "ALTER TYPE"
	case *pg.Node_ViewStmt:
		return "CREATE VIEW"
	case *pg.Node_LoadStmt:
		return "LOAD"
	case *pg.Node_CreatedbStmt:
		return "CREATE DATABASE"
	case *pg.Node_AlterDatabaseStmt, *pg.Node_AlterDatabaseRefreshCollStmt, *pg.Node_AlterDatabaseSetStmt:
		return "ALTER DATABASE"
	case *pg.Node_DropdbStmt:
		return "DROP DATABASE"
	case *pg.Node_AlterSystemStmt:
		return "ALTER SYSTEM"
	case *pg.Node_ClusterStmt:
		return "CLUSTER"
	case *pg.Node_ExplainStmt:
		return "EXPLAIN"
	case *pg.Node_RefreshMatViewStmt:
		return "REFRESH MATERIALIZED VIEW"
	case *pg.Node_CheckPointStmt:
		return "CHECKPOINT"
	case *pg.Node_VariableShowStmt:
		return "SHOW"
	case *pg.Node_LockStmt:
		return "LOCK TABLE"
	case *pg.Node_ConstraintsSetStmt:
		return "SET CONSTRAINTS"
	case *pg.Node_ReindexStmt:
		return "REINDEX"
	case *pg.Node_CreateConversionStmt:
		return "CREATE CONVERSION"
	case *pg.Node_CreateCastStmt:
		return "CREATE CAST"
	case *pg.Node_CreateTransformStmt:
		return "CREATE TRANSFORM"
	case *pg.Node_PrepareStmt:
		return "PREPARE"
	case *pg.Node_ExecuteStmt:
		return "EXECUTE"
	case *pg.Node_DropOwnedStmt:
		return "DROP OWNED"
	case *pg.Node_ReassignOwnedStmt:
		return "REASSIGN OWNED"
	case *pg.Node_AlterTsdictionaryStmt:
		return "ALTER TEXT SEARCH DICTIONARY"
	case *pg.Node_AlterTsconfigurationStmt:
		return "ALTER TEXT SEARCH CONFIGURATION"
	case *pg.Node_CreatePublicationStmt:
		return "CREATE PUBLICATION"
	case *pg.Node_AlterPublicationStmt:
		return "ALTER PUBLICATION"
	case *pg.Node_CreateSubscriptionStmt:
		return "CREATE SUBSCRIPTION"
	case *pg.Node_AlterSubscriptionStmt:
		return "ALTER SUBSCRIPTION"
	case *pg.Node_DropSubscriptionStmt:
		return "DROP SUBSCRIPTION"
	case *pg.Node_AlterDefaultPrivilegesStmt:
		return "ALTER DEFAULT PRIVILEGES"
	case *pg.Node_AlterCollationStmt:
		return "ALTER COLLATION"
	}
	return "???"
}

// intoOf finds the INTO of a SELECT: it stands in the leftmost branch of a set operation.
func intoOf(s *pg.SelectStmt) *pg.IntoClause {
	for s != nil {
		if s.IntoClause != nil {
			return s.IntoClause
		}
		s = s.Larg
	}
	return nil
}

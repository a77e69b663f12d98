package main

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Kinds that are not counted among the named ones. The first group is refused by
// name until the second width of SQL; the second group is in no list yet.
const (
	kindPLpgSQL     = "PL/pgSQL and DO"
	kindTrigger     = "triggers"
	kindRLS         = "row-level security"
	kindInheritance = "partitioning and inheritance"
	kindTextSearch  = "text search"
	kindGeometric   = "geometric types"

	kindXML         = "XML"
	kindCFunction   = "functions in C, internal functions, languages"
	kindBaseType    = "user-defined base types, operator classes, conversions, transforms"
	kindAM          = "access methods"
	kindForeign     = "foreign data"
	kindReplication = "logical replication"
	kindEvent       = "event triggers"
	kindRule        = "rules"
	kindLargeObject = "large objects"
	kindTablespace  = "tablespaces"
	kindTwoPhase    = "two-phase commit by clients"
	kindStatistics  = "extended statistics"
	kindCollation   = "collations other than C"
	kindExtension   = "extensions"
	kindLabel       = "security labels"
	kindTemplate    = "internals of the server (settings files, test support)"
)

// statementKinds are statements that are of a kind by what they are.
var statementKinds = map[string]string{
	"DoStmt": kindPLpgSQL, "CreatePLangStmt": kindCFunction, "CreateTransformStmt": kindBaseType,
	"CreateTrigStmt": kindTrigger, "CreateEventTrigStmt": kindEvent, "AlterEventTrigStmt": kindEvent,
	"CreatePolicyStmt": kindRLS, "AlterPolicyStmt": kindRLS, "RuleStmt": kindRule,
	"PartitionSpec": kindInheritance, "PartitionBoundSpec": kindInheritance, "PartitionCmd": kindInheritance,
	"CreateFdwStmt": kindForeign, "AlterFdwStmt": kindForeign, "CreateForeignServerStmt": kindForeign, "AlterForeignServerStmt": kindForeign,
	"CreateForeignTableStmt": kindForeign, "CreateUserMappingStmt": kindForeign, "AlterUserMappingStmt": kindForeign,
	"DropUserMappingStmt": kindForeign, "ImportForeignSchemaStmt": kindForeign,
	"CreatePublicationStmt": kindReplication, "AlterPublicationStmt": kindReplication,
	"CreateSubscriptionStmt": kindReplication, "AlterSubscriptionStmt": kindReplication, "DropSubscriptionStmt": kindReplication,
	"CreateAmStmt": kindAM, "CreateOpClassStmt": kindBaseType, "CreateOpFamilyStmt": kindBaseType, "AlterOpFamilyStmt": kindBaseType,
	"CreateConversionStmt":  kindBaseType,
	"AlterTSDictionaryStmt": kindTextSearch, "AlterTSConfigurationStmt": kindTextSearch,
	"CreateTableSpaceStmt": kindTablespace, "DropTableSpaceStmt": kindTablespace, "AlterTableSpaceOptionsStmt": kindTablespace, "AlterTableMoveAllStmt": kindTablespace,
	"CreateStatsStmt": kindStatistics, "AlterStatsStmt": kindStatistics,
	"CreateExtensionStmt": kindExtension, "AlterExtensionStmt": kindExtension, "AlterExtensionContentsStmt": kindExtension,
	"SecLabelStmt": kindLabel, "AlterSystemStmt": kindTemplate, "LoadStmt": kindCFunction,
	"AlterCollationStmt": kindCollation,
	"XmlExpr":            kindXML, "XmlSerialize": kindXML, "RangeTableFunc": kindXML,
}

// objectKinds are the objects of DROP, COMMENT, ALTER … OWNER and their like.
var objectKinds = map[pg.ObjectType]string{
	pg.ObjectType_OBJECT_ACCESS_METHOD: kindAM, pg.ObjectType_OBJECT_AMOP: kindBaseType, pg.ObjectType_OBJECT_AMPROC: kindBaseType,
	pg.ObjectType_OBJECT_CONVERSION: kindBaseType, pg.ObjectType_OBJECT_OPCLASS: kindBaseType,
	pg.ObjectType_OBJECT_OPFAMILY: kindBaseType, pg.ObjectType_OBJECT_TRANSFORM: kindBaseType,
	pg.ObjectType_OBJECT_COLLATION: kindCollation, pg.ObjectType_OBJECT_EVENT_TRIGGER: kindEvent, pg.ObjectType_OBJECT_EXTENSION: kindExtension,
	pg.ObjectType_OBJECT_FDW: kindForeign, pg.ObjectType_OBJECT_FOREIGN_SERVER: kindForeign, pg.ObjectType_OBJECT_FOREIGN_TABLE: kindForeign,
	pg.ObjectType_OBJECT_USER_MAPPING: kindForeign, pg.ObjectType_OBJECT_LANGUAGE: kindCFunction, pg.ObjectType_OBJECT_LARGEOBJECT: kindLargeObject,
	pg.ObjectType_OBJECT_POLICY: kindRLS, pg.ObjectType_OBJECT_PUBLICATION: kindReplication, pg.ObjectType_OBJECT_PUBLICATION_NAMESPACE: kindReplication,
	pg.ObjectType_OBJECT_PUBLICATION_REL: kindReplication, pg.ObjectType_OBJECT_SUBSCRIPTION: kindReplication, pg.ObjectType_OBJECT_RULE: kindRule,
	pg.ObjectType_OBJECT_STATISTIC_EXT: kindStatistics, pg.ObjectType_OBJECT_TABLESPACE: kindTablespace, pg.ObjectType_OBJECT_TRIGGER: kindTrigger,
	pg.ObjectType_OBJECT_TSCONFIGURATION: kindTextSearch, pg.ObjectType_OBJECT_TSDICTIONARY: kindTextSearch, pg.ObjectType_OBJECT_TSPARSER: kindTextSearch,
	pg.ObjectType_OBJECT_TSTEMPLATE: kindTextSearch,
}

// alterKinds are the subcommands of ALTER TABLE.
var alterKinds = map[pg.AlterTableType]string{
	pg.AlterTableType_AT_AddInherit: kindInheritance, pg.AlterTableType_AT_DropInherit: kindInheritance,
	pg.AlterTableType_AT_AttachPartition: kindInheritance, pg.AlterTableType_AT_DetachPartition: kindInheritance, pg.AlterTableType_AT_DetachPartitionFinalize: kindInheritance,
	pg.AlterTableType_AT_SetTableSpace:   kindTablespace,
	pg.AlterTableType_AT_SetAccessMethod: kindAM, pg.AlterTableType_AT_GenericOptions: kindForeign, pg.AlterTableType_AT_AlterColumnGenericOptions: kindForeign,
	pg.AlterTableType_AT_EnableTrig: kindTrigger, pg.AlterTableType_AT_EnableAlwaysTrig: kindTrigger, pg.AlterTableType_AT_EnableReplicaTrig: kindTrigger,
	pg.AlterTableType_AT_DisableTrig: kindTrigger, pg.AlterTableType_AT_EnableTrigAll: kindTrigger, pg.AlterTableType_AT_DisableTrigAll: kindTrigger,
	pg.AlterTableType_AT_EnableTrigUser: kindTrigger, pg.AlterTableType_AT_DisableTrigUser: kindTrigger,
	pg.AlterTableType_AT_EnableRule: kindRule, pg.AlterTableType_AT_EnableAlwaysRule: kindRule, pg.AlterTableType_AT_EnableReplicaRule: kindRule, pg.AlterTableType_AT_DisableRule: kindRule,
	pg.AlterTableType_AT_EnableRowSecurity: kindRLS, pg.AlterTableType_AT_DisableRowSecurity: kindRLS, pg.AlterTableType_AT_ForceRowSecurity: kindRLS, pg.AlterTableType_AT_NoForceRowSecurity: kindRLS,
}

// wordKinds are names of types and functions.
var wordKinds = words(map[string]string{
	kindGeometric: `point box lseg line path polygon circle center diameter radius npoints pclose popen isclosed isopen isvertical ishorizontal slope
		bound_box boxes_bounding_box diagonal poly_ops box_ops point_ops circle_ops quad_point_ops kd_point_ops poly_center area height width`,
	kindTextSearch: `tsvector tsquery gtsvector regconfig regdictionary to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery
		setweight ts_rank ts_rank_cd ts_headline ts_rewrite ts_delete ts_filter ts_lexize ts_parse ts_token_type ts_debug ts_stat numnode querytree
		tsvector_to_array array_to_tsvector tsquery_phrase json_to_tsvector jsonb_to_tsvector get_current_ts_config tsvector_update_trigger strip
		default_text_search_config`,
	kindXML: `xml xpath xpath_exists xmlexists xmlcomment xmlagg xml_is_well_formed xml_is_well_formed_document xml_is_well_formed_content table_to_xml query_to_xml
		cursor_to_xml schema_to_xml database_to_xml table_to_xmlschema query_to_xmlschema cursor_to_xmlschema schema_to_xmlschema database_to_xmlschema
		table_to_xml_and_xmlschema query_to_xml_and_xmlschema schema_to_xml_and_xmlschema database_to_xml_and_xmlschema xmloption xmlbinary`,
	kindLargeObject: `lo_creat lo_create lo_open lo_close loread lowrite lo_lseek lo_lseek64 lo_tell lo_tell64 lo_truncate lo_truncate64 lo_unlink lo_import lo_export
		lo_from_bytea lo_get lo_put`,
	kindForeign:  `pg_options_to_table`,
	kindTemplate: `pg_read_file pg_read_binary_file pg_ls_dir pg_stat_file pg_ls_waldir pg_ls_archive_statusdir pg_ls_tmpdir pg_ls_logdir pg_hba_file_rules pg_ident_file_mappings pg_file_settings`,
	kindRLS:      `row_security row_security_active`,
})

func words(byKind map[string]string) map[string]string {
	out := map[string]string{}
	for kind, list := range byKind {
		for _, w := range strings.Fields(list) {
			out[w] = kind
		}
	}
	return out
}

// kindOf finds the kind of a statement in its syntax tree: "" for a named one.
func kindOf(n *pg.Node) string {
	kind := ""
	set := func(k string) {
		if kind == "" {
			kind = k
		}
	}
	inspect(n.ProtoReflect(), func(m protoreflect.Message) {
		set(statementKinds[string(m.Descriptor().Name())])
		switch x := m.Interface().(type) {
		case *pg.CreateStmt:
			if len(x.InhRelations) > 0 {
				set(kindInheritance)
			}
			if x.Tablespacename != "" {
				set(kindTablespace)
			}
			if x.AccessMethod != "" && x.AccessMethod != "heap" {
				set(kindAM)
			}
		case *pg.IndexStmt:
			if x.TableSpace != "" {
				set(kindTablespace)
			}
		case *pg.IndexElem:
			set(wordKinds[lastName(x.Opclass)])
		case *pg.DefineStmt:
			switch x.Kind {
			case pg.ObjectType_OBJECT_AGGREGATE:
			case pg.ObjectType_OBJECT_COLLATION:
				set(kindCollation)
			case pg.ObjectType_OBJECT_OPERATOR:
			case pg.ObjectType_OBJECT_TYPE:
				set(kindBaseType)
			default:
				set(objectKinds[x.Kind])
			}
		case *pg.CollateClause:
			switch lastName(x.Collname) {
			case "C", "POSIX", "default", "ucs_basic":
			default:
				set(kindCollation)
			}
		case *pg.DefElem:
			if x.Defname == "language" {
				switch strings.ToLower(x.Arg.GetString_().GetSval()) {
				case "sql":
				case "plpgsql":
					set(kindPLpgSQL)
				default:
					set(kindCFunction)
				}
			}
		case *pg.DropStmt:
			set(objectKinds[x.RemoveType])
		case *pg.CommentStmt:
			set(objectKinds[x.Objtype])
		case *pg.AlterOwnerStmt:
			set(objectKinds[x.ObjectType])
		case *pg.RenameStmt:
			set(objectKinds[x.RenameType])
		case *pg.AlterObjectSchemaStmt:
			set(objectKinds[x.ObjectType])
		case *pg.AlterObjectDependsStmt:
			set(kindExtension)
		case *pg.GrantStmt:
			set(objectKinds[x.Objtype])
		case *pg.AlterTableStmt:
			set(objectKinds[x.Objtype])
		case *pg.AlterTableCmd:
			set(alterKinds[x.Subtype])
		case *pg.TransactionStmt:
			switch x.Kind {
			case pg.TransactionStmtKind_TRANS_STMT_PREPARE, pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
				set(kindTwoPhase)
			}
		case *pg.VariableSetStmt:
			set(wordKinds[x.Name])
		case *pg.VariableShowStmt:
			set(wordKinds[x.Name])
		case *pg.TypeName:
			set(wordKinds[lastName(x.Names)])
		case *pg.FuncCall:
			set(wordKinds[lastName(x.Funcname)])
		}
	})
	return kind
}

// inspect calls f for a message and all below it.
func inspect(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				inspect(v.List().Get(i).Message(), f)
			}
		case !fd.IsMap():
			inspect(v.Message(), f)
		}
		return true
	})
}

func lastName(list []*pg.Node) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1].GetString_().GetSval()
}

package bind

// exprKind says which clause an expression stands in (ParseExprKind).
type exprKind uint8

const (
	kindNone exprKind = iota
	kindOther
	kindJoinOn
	kindJoinUsing
	kindFromSubselect
	kindFromFunction
	kindWhere
	kindHaving
	kindFilter
	kindWindowPartition
	kindWindowOrder
	kindWindowRange
	kindWindowRows
	kindWindowGroups
	kindSelectTarget
	kindInsertTarget
	kindUpdateSource
	kindUpdateTarget
	kindMergeWhen
	kindGroupBy
	kindOrderBy
	kindDistinctOn
	kindLimit
	kindOffset
	kindReturning
	kindValues
	kindValuesSingle
	kindCheck
	kindDomainCheck
	kindColumnDefault
	kindFunctionDefault
	kindIndexExpression
	kindIndexPredicate
	kindAlterTransform
	kindExecuteParameter
	kindGenerated
	kindCallArgument
	kindCopyWhere
	kindCycleMark
	kindPolicy
	kindPartitionExpression
	kindPartitionBound
)

var kindNames = [...]string{
	kindNone: "invalid", kindOther: "expression", kindJoinOn: "JOIN/ON", kindJoinUsing: "JOIN/USING", kindFromSubselect: "sub-SELECT in FROM",
	kindFromFunction: "function in FROM", kindWhere: "WHERE", kindHaving: "HAVING", kindFilter: "FILTER",
	kindWindowPartition: "window PARTITION BY", kindWindowOrder: "window ORDER BY", kindWindowRange: "window RANGE",
	kindWindowRows: "window ROWS", kindWindowGroups: "window GROUPS", kindSelectTarget: "SELECT", kindInsertTarget: "INSERT",
	kindUpdateSource: "UPDATE", kindUpdateTarget: "UPDATE", kindMergeWhen: "MERGE WHEN", kindGroupBy: "GROUP BY", kindOrderBy: "ORDER BY",
	kindDistinctOn: "DISTINCT ON", kindLimit: "LIMIT", kindOffset: "OFFSET", kindReturning: "RETURNING", kindValues: "VALUES",
	kindValuesSingle: "VALUES", kindCheck: "CHECK", kindDomainCheck: "CHECK", kindColumnDefault: "DEFAULT", kindFunctionDefault: "DEFAULT",
	kindIndexExpression: "index expression", kindIndexPredicate: "index predicate", kindAlterTransform: "USING",
	kindExecuteParameter: "EXECUTE", kindGenerated: "GENERATED AS", kindCallArgument: "CALL", kindCopyWhere: "WHERE", kindCycleMark: "CYCLE", kindPolicy: "POLICY",
	kindPartitionExpression: "PARTITION BY", kindPartitionBound: "partition bound",
}

func (k exprKind) name() string { return kindNames[k] }

// place is how errors about aggregates and set-returning functions call the clause.
func (k exprKind) place() string {
	switch k {
	case kindJoinOn, kindJoinUsing:
		return "JOIN conditions"
	case kindFromFunction:
		return "functions in FROM"
	case kindMergeWhen:
		return "MERGE WHEN conditions"
	case kindPolicy:
		return "policy expressions"
	case kindCheck, kindDomainCheck:
		return "check constraints"
	case kindColumnDefault, kindFunctionDefault:
		return "DEFAULT expressions"
	case kindIndexExpression:
		return "index expressions"
	case kindIndexPredicate:
		return "index predicates"
	case kindAlterTransform:
		return "transform expressions"
	case kindExecuteParameter:
		return "EXECUTE parameters"
	case kindGenerated:
		return "column generation expressions"
	case kindCallArgument:
		return "CALL arguments"
	case kindCopyWhere:
		return "COPY FROM WHERE conditions"
	case kindPartitionExpression:
		return "partition key expressions"
	}
	return k.name()
}

// subqueryPlace is "" where a subquery is allowed.
func (k exprKind) subqueryPlace() string {
	switch k {
	case kindCheck, kindDomainCheck:
		return "check constraint"
	case kindColumnDefault, kindFunctionDefault:
		return "DEFAULT expression"
	case kindIndexExpression:
		return "index expression"
	case kindIndexPredicate:
		return "index predicate"
	case kindAlterTransform:
		return "transform expression"
	case kindExecuteParameter:
		return "EXECUTE parameter"
	case kindGenerated:
		return "column generation expression"
	case kindCallArgument:
		return "CALL argument"
	case kindCopyWhere:
		return "COPY FROM WHERE condition"
	case kindPartitionExpression:
		return "partition key expression"
	case kindPartitionBound:
		return "partition bound"
	}
	return ""
}

// allowsAggs, allowsWindows, allowsSRF: clauses in which they may stand.
func (k exprKind) allowsAggs() bool {
	switch k {
	case kindOther, kindSelectTarget, kindHaving, kindWindowPartition, kindWindowOrder, kindOrderBy, kindDistinctOn, kindFromSubselect:
		return true
	}
	return false
}

func (k exprKind) allowsWindows() bool {
	switch k {
	case kindOther, kindSelectTarget, kindOrderBy, kindDistinctOn:
		return true
	}
	return false
}

func (k exprKind) windowPlace() string {
	switch k {
	case kindWindowPartition, kindWindowOrder, kindWindowRange, kindWindowRows, kindWindowGroups:
		return "window definitions"
	}
	return k.place()
}

func (k exprKind) allowsSRF() bool {
	switch k {
	case kindOther, kindSelectTarget, kindInsertTarget, kindGroupBy, kindOrderBy, kindDistinctOn, kindWindowPartition, kindWindowOrder, kindValuesSingle, kindFromFunction:
		return true
	}
	return false
}

func (k exprKind) srfPlace() string {
	switch k {
	case kindWindowRange, kindWindowRows, kindWindowGroups:
		return "window definitions"
	}
	return k.place()
}

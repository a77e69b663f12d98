package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
)

// clusterCommand groups the commands that call a node's cluster functions.
func clusterCommand() *cobra.Command {
	var dsn string
	cmd := &cobra.Command{Use: "cluster", Short: "Look at and change a cluster's membership"}
	cmd.PersistentFlags().StringVar(&dsn, "dsn", "postgres://postgres@127.0.0.1:5433/postgres?sslmode=prefer", "a node of the cluster")

	add := func(use, short string, args cobra.PositionalArgs, query func(args []string) (string, []any)) {
		cmd.AddCommand(&cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, a []string) error {
			sql, params := query(a)
			return printQuery(c, dsn, sql, params...)
		}})
	}
	add("status", "Members of the cluster, their role and progress", cobra.NoArgs, func([]string) (string, []any) {
		return "SELECT node_id, address, suffrage, leader, match_index, lag, last_contact FROM ostraka.members ORDER BY node_id", nil
	})
	add("metrics", "State of the node's replica", cobra.NoArgs, func([]string) (string, []any) {
		return "SELECT raft_metrics()", nil
	})
	add("init", "Make the node the first member of a new cluster", cobra.NoArgs, func([]string) (string, []any) {
		return "SELECT raft_init()", nil
	})
	add("add-learner NODE_ID RAFT_ADDRESS", "Add a node that does not vote and wait until it has caught up", cobra.ExactArgs(2),
		func(a []string) (string, []any) { return "SELECT raft_add_learner($1, $2)", []any{a[0], a[1]} })
	add("change-membership NODE_ID...", "Make exactly these nodes the voters", cobra.MinimumNArgs(1),
		func(a []string) (string, []any) { return "SELECT raft_change_membership($1::text[])", []any{a} })
	add("checksum", "Compare the replicas of all members at one position", cobra.NoArgs, func([]string) (string, []any) {
		return "SELECT ostraka_checksum()", nil
	})
	return cmd
}

// printQuery prints a query's rows as a table; a single value is printed alone.
func printQuery(cmd *cobra.Command, dsn, sql string, args ...any) error {
	ctx := cmd.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, sql, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fields := rows.FieldDescriptions()
	if len(fields) > 1 {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		fmt.Fprintln(w, strings.Join(names, "\t"))
	}
	for rows.Next() {
		vals := rows.RawValues()
		cells := make([]string, len(vals))
		for i, v := range vals {
			cells[i] = string(v)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return errors.Join(rows.Err(), w.Flush())
}

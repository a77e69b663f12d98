package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ostraka/sqltest"
)

func sqltestCommand() *cobra.Command {
	var (
		o      sqltest.Options
		driver string
		record bool
		quiet  bool
	)
	cmd := &cobra.Command{
		Use:   "sqltest FILE-OR-FOLDER...",
		Short: "Run sqllogictest files against any PostgreSQL-compatible server",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, ok := sqltest.Drivers()[driver]
			if !ok {
				return fmt.Errorf("--driver: %q is not one of pgx, pgx-extended, pq", driver)
			}
			o.Driver = d
			files, err := testFiles(args)
			if err != nil {
				return err
			}
			var passed, failed, skipped int
			for _, path := range files {
				f, err := sqltest.ParseFile(path)
				if err != nil {
					return err
				}
				if record {
					if err := sqltest.RecordFile(cmd.Context(), f, o); err != nil {
						return err
					}
					continue
				}
				rep, err := sqltest.Run(cmd.Context(), f, o)
				if err != nil {
					return err
				}
				passed, failed, skipped = passed+rep.Passed, failed+rep.Failed, skipped+rep.Skipped
				for _, fail := range rep.Failures {
					if !quiet {
						fmt.Fprintln(cmd.OutOrStdout(), fail)
					}
				}
			}
			if record {
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
			if failed > 0 {
				return fmt.Errorf("%d records failed", failed)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.DSN, "dsn", "postgres://postgres@127.0.0.1:5433/postgres?sslmode=disable", "the server")
	cmd.Flags().StringVar(&driver, "driver", "pgx", "pgx (simple protocol), pgx-extended or pq")
	cmd.Flags().StringVar(&o.Label, "label", "postgresql", "what skipif and onlyif compare with")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", time.Minute, "limit per record")
	cmd.Flags().BoolVar(&o.StopAtFirst, "stop", false, "end a file at its first failure")
	cmd.Flags().BoolVar(&record, "record", false, "write the server's answers into the files as expectations")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print only the totals")
	return cmd
}

// testFiles expands folders to the test files below them.
func testFiles(args []string) ([]string, error) {
	var out []string
	for _, a := range args {
		err := filepath.WalkDir(a, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if path == a || strings.HasSuffix(path, ".slt") || strings.HasSuffix(path, ".test") {
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}

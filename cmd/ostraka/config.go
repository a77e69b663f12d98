package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"ostraka/node"
)

// options is a configuration that can list its settings.
type options interface{ Options() []node.Option }

// configFlags adds every option of cfg as a flag, with --config and --print-config.
func configFlags(cmd *cobra.Command, cfg options) {
	for _, o := range cfg.Options() {
		help := o.Help + " ($" + o.Env() + ")"
		switch v := o.Value.(type) {
		case *string:
			cmd.Flags().StringVar(v, o.Name, *v, help)
		case *[]string:
			cmd.Flags().StringSliceVar(v, o.Name, *v, help)
		case *bool:
			cmd.Flags().BoolVar(v, o.Name, *v, help)
		case *int:
			cmd.Flags().IntVar(v, o.Name, *v, help)
		case *int64:
			cmd.Flags().Var(byteSize{v}, o.Name, help) // every option of this type is a size
		case *time.Duration:
			cmd.Flags().DurationVar(v, o.Name, *v, help)
		}
		cmd.Flags().Lookup(o.Name).Hidden = o.Hidden
	}
	cmd.Flags().String("config", "", "config file (YAML, keys named as the flags; $OSTRAKA_CONFIG)")
	cmd.Flags().Bool("print-config", false, "print the configuration in force and exit")
}

// loadConfig fills cfg from the config file and the environment where no flag was
// given: flags win over the environment, the environment over the file.
func loadConfig(cmd *cobra.Command, cfg options) error {
	path, _ := cmd.Flags().GetString("config")
	if path == "" {
		path = os.Getenv("OSTRAKA_CONFIG")
	}
	file := map[string]any{}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("config file: %w", err)
		}
		if err := yaml.Unmarshal(data, &file); err != nil {
			return fmt.Errorf("config file %s: %w", path, err)
		}
	}
	known := map[string]bool{}
	for _, o := range cfg.Options() {
		known[o.Name] = true
		if cmd.Flags().Changed(o.Name) {
			continue
		}
		value, from, ok := os.Getenv(o.Env()), o.Env(), true
		if value == "" {
			var v any
			if v, ok = file[o.Name]; ok {
				value, from = fileText(v), path+": "+o.Name
			}
		}
		if !ok {
			continue
		}
		if err := cmd.Flags().Lookup(o.Name).Value.Set(value); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	for key := range file {
		if !known[key] {
			return fmt.Errorf("config file %s: unknown key %q", path, key)
		}
	}
	return nil
}

// fileText gives a YAML value in the form flags take.
func fileText(v any) string {
	if list, ok := v.([]any); ok {
		parts := make([]string, len(list))
		for i, e := range list {
			parts[i] = fmt.Sprint(e)
		}
		return strings.Join(parts, ",")
	}
	if v == nil { // a key without a value
		return ""
	}
	return fmt.Sprint(v)
}

func printConfig(cmd *cobra.Command, cfg options) error {
	var doc yaml.MapSlice
	for _, o := range cfg.Options() {
		if f := cmd.Flags().Lookup(o.Name); o.Hidden && f.Value.String() == f.DefValue {
			continue
		}
		var v any
		switch p := o.Value.(type) {
		case *[]string:
			v = *p
		case *bool:
			v = *p
		case *int:
			v = *p
		case *int64:
			v = *p
		default:
			v = cmd.Flags().Lookup(o.Name).Value.String()
		}
		doc = append(doc, yaml.MapItem{Key: o.Name, Value: v})
	}
	out, err := yaml.Marshal(doc)
	if err == nil {
		_, err = cmd.OutOrStdout().Write(out)
	}
	return err
}

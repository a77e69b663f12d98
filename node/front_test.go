package node

import (
	"net"
	"testing"
	"time"
)

// TestServerSettings: what a node is configured with is what SHOW, pg_settings and the
// functions about the connection tell, and RESET goes back to it.
func TestServerSettings(t *testing.T) {
	n := alone(t, t.TempDir(), func(c *Config) { c.WorkMem, c.MaxConnections = 8<<20, 77 })
	_, port, err := net.SplitHostPort(n.front.addr())
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, n)
	c.want("SELECT current_setting('port'), current_setting('listen_addresses'), current_setting('work_mem'), current_setting('max_connections'), current_setting('ssl')",
		port+"|127.0.0.1|8MB|77|off")
	c.want("SELECT setting, unit, source, boot_val, reset_val FROM pg_settings WHERE name = 'work_mem'", "8192|kB|configuration file|4096|8192")
	c.do("SET work_mem = '1MB'; RESET work_mem")
	c.want("SELECT current_setting('work_mem')", "8MB")
	c.do("SET work_mem = '1MB'")
	c.do("DISCARD ALL")
	c.want("SELECT current_setting('work_mem')", "8MB")
	c.want("SELECT inet_server_addr(), inet_server_port(), inet_client_addr(), inet_client_port() > 0", "127.0.0.1|"+port+"|127.0.0.1|t")
	started := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	c.want("SELECT pg_postmaster_start_time() BETWEEN '"+started+"' AND now(), pg_conf_load_time() = pg_postmaster_start_time()", "t|t")
	c.want("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "f|")
}

// TestDSNOfAllAddresses: a node that listens on every address names one that can be connected to.
func TestDSNOfAllAddresses(t *testing.T) {
	n := alone(t, t.TempDir(), func(c *Config) { c.Listen, c.Insecure = "0.0.0.0:0", true })
	_, port, err := net.SplitHostPort(n.front.addr())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := n.DSN(), "postgres://postgres@127.0.0.1:"+port+"/postgres?sslmode=prefer"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

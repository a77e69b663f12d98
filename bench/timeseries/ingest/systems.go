package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/golang/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"ostraka/bench/servers"
	"ostraka/bench/timeseries"
)

// system is what is measured: a server and a way to write to it.
type system struct {
	name   string
	start  func(dir string) (s *servers.Server, url string, err error)
	encode func(gen []*timeseries.Series, at, steps int) []byte
	header http.Header
	flush  func(url string) error // makes what is in memory durable; may be nil
}

// epoch is the time of the first rows, seconds since 1970.
const epoch = 1_700_000_000

func systems(program, peers string) []system {
	ostraka := func(path string) func(string) (*servers.Server, string, error) {
		return func(dir string) (*servers.Server, string, error) {
			addr := fmt.Sprintf("127.0.0.1:%d", servers.FreePort())
			s, err := servers.Ostraka(program, dir, 1, "--http", addr)
			return s, "http://" + addr + path, err
		}
	}
	victoria := func(path string) func(string) (*servers.Server, string, error) {
		return func(dir string) (*servers.Server, string, error) {
			addr := fmt.Sprintf("127.0.0.1:%d", servers.FreePort())
			s, err := servers.Daemon("victoria-metrics", "http://"+addr+"/health", filepath.Join(dir, "log"), exec.Command(filepath.Join(peers, "victoria-metrics"),
				"-storageDataPath", filepath.Join(dir, "data"), "-httpListenAddr", addr, "-retentionPeriod", "100y"))
			return s, "http://" + addr + path, err
		}
	}
	influx := func(dir string) (*servers.Server, string, error) {
		addr, rpc := fmt.Sprintf("127.0.0.1:%d", servers.FreePort()), fmt.Sprintf("127.0.0.1:%d", servers.FreePort())
		conf := filepath.Join(dir, "influxdb.conf")
		text := fmt.Sprintf("reporting-disabled = true\nbind-address = %q\n[meta]\n  dir = %q\n[data]\n  dir = %q\n  wal-dir = %q\n[http]\n  bind-address = %q\n  log-enabled = false\n"+
			"[ifql]\n  enabled = false\n[monitor]\n  store-enabled = false\n", rpc, filepath.Join(dir, "meta"), filepath.Join(dir, "data"), filepath.Join(dir, "wal"), addr)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return nil, "", err
		}
		s, err := servers.Daemon("influxdb", "http://"+addr+"/ping", filepath.Join(dir, "log"), exec.Command(filepath.Join(peers, "influxd"), "-config", conf))
		if err == nil {
			err = post("http://"+addr+"/query?q=CREATE+DATABASE+postgres", nil, nil)
		}
		return s, "http://" + addr + "/write?db=postgres", err
	}
	prometheus := func(dir string) (*servers.Server, string, error) {
		addr := fmt.Sprintf("127.0.0.1:%d", servers.FreePort())
		conf := filepath.Join(dir, "prometheus.yml")
		if err := os.WriteFile(conf, []byte("global: {}\n"), 0o600); err != nil {
			return nil, "", err
		}
		s, err := servers.Daemon("prometheus", "http://"+addr+"/-/ready", filepath.Join(dir, "log"), exec.Command(filepath.Join(peers, "prometheus"),
			"--config.file", conf, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", addr, "--web.enable-remote-write-receiver",
			"--storage.tsdb.retention.time", "100y"))
		return s, "http://" + addr + "/api/v1/write", err
	}
	remote := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}, "X-Prometheus-Remote-Write-Version": {"0.1.0"}}
	return []system{
		{name: "ostraka, line protocol", start: ostraka("/write?db=postgres"), encode: lines},
		{name: "ostraka, line protocol, no fsync", start: ostraka("/write?db=postgres&synchronous_commit=off"), encode: lines},
		{name: "victoria-metrics, line protocol", start: victoria("/write?db=postgres"), encode: lines},
		{name: "influxdb, line protocol", start: influx, encode: lines},
		{name: "ostraka, remote write", start: ostraka("/api/v1/write"), encode: remoteWrite, header: remote},
		{name: "victoria-metrics, remote write", start: victoria("/api/v1/write"), encode: remoteWrite, header: remote},
		{name: "prometheus, remote write", start: prometheus, encode: remoteWrite, header: remote},
	}
}

// lines is some steps of all series in line protocol.
func lines(gen []*timeseries.Series, at, steps int) []byte {
	var b []byte
	for k := range steps {
		t := int64(epoch+(at+k)*10) * 1e9
		for _, s := range gen {
			b = append(b, "m,host="...)
			b = append(append(b, s.Host...), ",dc="...)
			b = append(append(b, s.DC...), ",rack="...)
			b = append(append(b, s.Rack...), ",kind="...)
			b = append(append(b, s.Kind...), " value="...)
			b = strconv.AppendFloat(b, s.Next(), 'f', -1, 64)
			b = append(b, ' ')
			b = append(strconv.AppendInt(b, t, 10), '\n')
		}
	}
	return b
}

// remoteWrite is the same as a request of remote write 1.0 as Prometheus sends it:
// one sample for each mention of a series.
func remoteWrite(gen []*timeseries.Series, at, steps int) []byte {
	var b, ts, part []byte
	label := func(name, value string) {
		part = protowire.AppendString(protowire.AppendTag(part[:0], 1, protowire.BytesType), name)
		part = protowire.AppendString(protowire.AppendTag(part, 2, protowire.BytesType), value)
		ts = protowire.AppendBytes(protowire.AppendTag(ts, 1, protowire.BytesType), part)
	}
	for k := range steps {
		for _, s := range gen {
			ts = ts[:0]
			label("__name__", "m")
			label("dc", s.DC)
			label("host", s.Host)
			label("kind", s.Kind)
			label("rack", s.Rack)
			part = binary.LittleEndian.AppendUint64(protowire.AppendTag(part[:0], 1, protowire.Fixed64Type), math.Float64bits(s.Next()))
			part = protowire.AppendVarint(protowire.AppendTag(part, 2, protowire.VarintType), uint64(epoch+(at+k)*10)*1000)
			ts = protowire.AppendBytes(protowire.AppendTag(ts, 2, protowire.BytesType), part)
			b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), ts)
		}
	}
	return snappy.Encode(nil, b)
}

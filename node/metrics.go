package node

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ostraka/raft"
)

// metric is one exposed figure; docs/metrics.md lists them all (tested).
type metric struct {
	name, help string
	labels     []string
	kind       prometheus.ValueType
}

var (
	metricLeader      = metric{"ostraka_raft_leader_info", "1 for the state the replica is in", []string{"group", "state"}, prometheus.GaugeValue}
	metricTerm        = metric{"ostraka_raft_term_count", "Raft term", []string{"group"}, prometheus.GaugeValue}
	metricCommit      = metric{"ostraka_raft_commit_index_count", "newest committed log index known", []string{"group"}, prometheus.GaugeValue}
	metricApplied     = metric{"ostraka_raft_applied_index_count", "newest applied log index", []string{"group"}, prometheus.GaugeValue}
	metricDurable     = metric{"ostraka_raft_durable_index_count", "newest index whose effects are flushed", []string{"group"}, prometheus.GaugeValue}
	metricLogBytes    = metric{"ostraka_raft_log_size_bytes", "size of the replicated log on disk", []string{"group"}, prometheus.GaugeValue}
	metricMemberLag   = metric{"ostraka_raft_member_lag_entries", "entries a member lacks, as the leader knows", []string{"group", "member"}, prometheus.GaugeValue}
	metricMemberMatch = metric{"ostraka_raft_member_match_index_count", "highest log index that a member is known to have, as the leader knows", []string{"group", "member"}, prometheus.GaugeValue}
	metricMemberSeen  = metric{"ostraka_raft_member_last_contact_seconds", "time since a member answered the leader", []string{"group", "member"}, prometheus.GaugeValue}
	metricLastContact = metric{"ostraka_raft_last_contact_seconds", "time since the leader was heard", []string{"group"}, prometheus.GaugeValue}
	metricSessions    = metric{"ostraka_front_sessions_count", "open client connections", nil, prometheus.GaugeValue}
	metricDiskFree    = metric{"ostraka_node_disk_free_bytes", "free space of the data directory's file system at the last look", nil, prometheus.GaugeValue}
	metricDiskFull    = metric{"ostraka_node_disk_full_info", "1 while the node refuses writes because its disk is nearly full", nil, prometheus.GaugeValue}
	metricSeries      = metric{"ostraka_timeseries_series_count", "time series known on this node", nil, prometheus.GaugeValue}
	metricSeriesMem   = metric{"ostraka_timeseries_memory_bytes", "time-series rows in memory", nil, prometheus.GaugeValue}
	metricSeriesLog   = metric{"ostraka_timeseries_log_size_bytes", "size of the newest segment of the time-series log", nil, prometheus.GaugeValue}
	metricDamaged     = metric{"ostraka_node_damaged_info", "1 when a file of the node's state could not be read", nil, prometheus.GaugeValue}
	metricColumns     = metric{"ostraka_columns_memory_bytes", "columns of tables in memory", nil, prometheus.GaugeValue}
	metricColumnRows  = metric{"ostraka_columns_served_rows_total", "rows answered from columns in memory", nil, prometheus.CounterValue}
	metricReady       = metric{"ostraka_node_ready_info", "1 when the node can serve", nil, prometheus.GaugeValue}
)

// allMetrics is compared with the documentation.
var allMetrics = []metric{metricLeader, metricTerm, metricCommit, metricApplied, metricDurable, metricLogBytes, metricMemberLag, metricMemberMatch, metricMemberSeen, metricLastContact,
	metricSessions, metricDiskFree, metricDiskFull, metricDamaged, metricSeries, metricSeriesMem, metricSeriesLog, metricColumns, metricColumnRows, metricReady}

func (m metric) desc() *prometheus.Desc { return prometheus.NewDesc(m.name, m.help, m.labels, nil) }

// collector reads a node's state when it is scraped.
type collector struct{ n *Node }

func newMetrics(n *Node) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{n}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range allMetrics {
		ch <- m.desc()
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	put := func(m metric, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(m.desc(), m.kind, v, labels...)
	}
	c.group(put, strconv.Itoa(homeShard), c.n.group.Metrics())
	for _, h := range c.n.hostedShards() {
		c.group(put, strconv.Itoa(int(h.id)), h.group.Metrics())
	}
	put(metricSessions, float64(c.n.front.server.Connections()))
	full := 0.0
	if c.n.disk.full.Load() {
		full = 1
	}
	put(metricDiskFree, float64(c.n.disk.free.Load()))
	put(metricDiskFull, full)
	memory, log, series := c.n.seriesStore.Usage()
	put(metricSeries, float64(series))
	put(metricSeriesMem, float64(memory))
	put(metricSeriesLog, float64(log))
	damaged := 0.0
	if c.n.disk.damaged.Load() {
		damaged = 1
	}
	put(metricDamaged, damaged)
	put(metricColumns, float64(c.n.columns.Used()))
	put(metricColumnRows, float64(c.n.columns.Served()))
	ready := 0.0
	if c.n.Ready() == nil {
		ready = 1
	}
	put(metricReady, ready)
}

func (c collector) group(put func(metric, float64, ...string), group string, m raft.Metrics) {
	put(metricLeader, 1, group, m.State)
	put(metricTerm, float64(m.Term), group)
	put(metricCommit, float64(m.Commit), group)
	put(metricApplied, float64(m.Applied), group)
	put(metricDurable, float64(m.Durable), group)
	put(metricLogBytes, float64(m.LogBytes), group)
	if !m.LastContact.IsZero() {
		put(metricLastContact, time.Since(m.LastContact).Seconds(), group)
	}
	for _, x := range m.Members {
		if x.Progress != nil {
			put(metricMemberLag, float64(x.Progress.Lag), group, x.ID)
			put(metricMemberMatch, float64(x.Progress.Match), group, x.ID)
			if !x.Progress.LastContact.IsZero() {
				put(metricMemberSeen, time.Since(x.Progress.LastContact).Seconds(), group, x.ID)
			}
		}
	}
}

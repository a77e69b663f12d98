// Package torture proves what docs/promises.md promises: it starts a cluster of
// processes, lets clients work on all nodes, does to the nodes what a seeded
// schedule says, and lets checkers decide whether what the clients saw is allowed.
//
// A run fails when a checker finds an anomaly that the workload's level forbids,
// when a node ends by itself, when the cluster does not come to rest within its
// time after the last fault, when nothing was acknowledged, and when a planned
// fault did not occur. A seed reproduces the schedule and what clients ask for;
// it does not reproduce the operating system's scheduling.
package torture

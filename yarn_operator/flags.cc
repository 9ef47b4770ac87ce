#include "yarn_operator/yarn_operator.h"

namespace tidemark::yarn_operator {
namespace {

using Kind = base::PeerFlag::Kind;

constexpr base::PeerFlag kOfThePeer[] = {
    {"namespace", Kind::kText, "", "pods of all namespaces count: batch held in other namespaces must not be sold"},
    {"enable-pprof", Kind::kSwitch, "false", base::kNoProfiles},
    {"pprof-addr", Kind::kText, "", base::kNoProfiles},
    {"sync-period", Kind::kText, base::kAnyValue, "each --poll checks everything"},
};

}  // namespace

std::span<const base::PeerFlag> peer_flags() {
  return kOfThePeer;
}

void declare_yarn_flags(base::Flags& flags, YarnOptions& options) {
  flags
      .text("hadoop-conf-dir", options.hadoop_conf_dir,
            "directory with yarn-site.xml, and CLUSTER.yarn-site.xml of further clusters; else $HADOOP_CONF_DIR. The "
            "property tidemark.class in them sets the class of the cluster's work")
      .placeholder("DIR");
  flags
      .text("yarn-user", options.user,
            "user of calls to ResourceManagers; yarn.admin.acl must allow it to change nodes. Empty: no user is sent, "
            "as in "
            "Koordinator's operator, and the ResourceManager uses its own")
      .placeholder("USER");
  hadoop::declare_kerberos_flags(flags, options.kerberos);
  flags.integer("millicores-per-vcore", options.totals.vcore.value, 1, 1'000'000,
                "CPU of a vcore, in thousandths of a core");
  flags.integer("memory-per-vcore", options.totals.memory_per_vcore_mib, 0, 1'000'000,
                "for a scheduler that ignores vcores: MiB of a node's total for each vcore of it at most; 0: no limit");
  flags.integer(
      "dead-band-permille", options.totals.dead_band_permille, 0, 1000,
      "growth of a node's total by at most this many thousandths waits until it is more; cuts and offers of the "
      "manager never wait. 0: nothing waits");
}

void declare_rounding_flag(base::Flags& flags, YarnOptions& options) {
  flags.choice("rounding", options.totals.rounding,
               {{"exact", policy::sell::YarnRounding::kExact}, {"peer", policy::sell::YarnRounding::kPeer}},
               "exact: MiB and vcores rounded down, minus what pods hold. peer: like Koordinator's operator, for a "
               "migration; it oversells");
}

void declare_flags(base::Flags& flags, OperatorOptions& options) {
  using std::chrono::seconds;
  flags.group("YARN");
  declare_yarn_flags(flags, options);
  declare_rounding_flag(flags, options);
  flags.duration("poll", options.poll, std::chrono::milliseconds(200), seconds(600),
                 "interval of requests for a cluster's nodes");
  flags.duration("lost-hold", options.lost_hold, seconds(0), std::chrono::hours(24),
                 "how long containers of a lost NodeManager count, because they may still run");
  flags.duration("preemption-grace", options.preemption_grace, seconds(0), std::chrono::hours(1),
                 "after a drain and on reclaim: time from the notice to applications to the kill of containers");
  flags.group("Mode");
  flags.choice("mode", options.mode, {"enforce", "observe"},
               "observe: decide and show, send nothing to ResourceManagers and write nothing; can run beside "
               "another operator");
  flags
      .text("config-namespace", options.config_namespace,
            "namespace of tidemark-config, which sets the mode of pools; without one all pools enforce")
      .placeholder("NAMESPACE");
  // Rejects a list without this controller: it would run anyway.
  flags.choice("controllers", options.controllers, {"yarnresource", "*"}, "Koordinator's name of this controller")
      .hidden();
  flags.group("Serving");
  flags
      .text("metrics-addr", options.metrics_address,
            "address of /metrics, /healthz and /readyz; port 0 picks one, 0 is off")
      .placeholder("HOST:PORT");
  flags.text("health-probe-addr", options.health_address, "address of /healthz and /readyz only; empty or 0 is off")
      .placeholder("HOST:PORT");
  flags.group("Load");
  flags.number("kube-api-qps", options.queries_per_second, 0.1, 10000, "requests a second to the API server")
      .alias("rest-config-qps");
  flags.integer("kube-api-burst", options.query_burst, 1, 100000, "requests at once, before the rate holds")
      .alias("rest-config-burst");
  flags.group("Leader election");
  flags.boolean("leader-elect", options.leader_elect, "only the replica with the lease sends and writes")
      .alias("enable-leader-election");
  flags
      .text("leader-election-namespace", options.lease.ns,
            "namespace of the lease; empty: the pod's own, or that of the kubeconfig's context")
      .placeholder("NAMESPACE");
  flags.text("leader-election-id", options.lease.name, "name of the lease").placeholder("NAME");
}

}  // namespace tidemark::yarn_operator

#include "manager/manager.h"

namespace tidemark::manager {

void declare_common_flags(base::Flags& flags, ManagerOptions& options) {
  flags.group("Configuration");
  flags.text("config-namespace", options.config_namespace, "namespace of the ConfigMap with the co-location settings")
      .placeholder("NAMESPACE");
  flags.text("slo-config-name", options.config_name, "name of that ConfigMap").placeholder("NAME");

  flags.list("noderesource-plugins", options.plugins, "*", policy::sell::parse_plugins,
             "parts of noderesource that run: names, * for all, -NAME for all but that");
  flags.list("controllers", options.controllers, "*", parse_controllers, "controllers that run, in the same way");

  flags.group("Serving");
  flags
      .text("metrics-addr", options.metrics_address,
            "address of /metrics, /healthz and /readyz; port 0 picks one, 0 is off")
      .placeholder("HOST:PORT")
      .alias("metrics-bind-address");

  flags.group("Journal");
  flags
      .text("journal-dir", options.journal.directory,
            "directory of the decision journal, for explain --at and replay; empty disables it")
      .placeholder("DIR");
  flags
      .integer("journal-size", options.journal.megabytes, 1, 1'000'000,
               "MiB limit of the decision journal on disk; the oldest entries are deleted first")
      .placeholder("MIB");

  flags.group("Load");
  flags.integer("workers", options.workers, 1, 64, "nodes decided at the same time");
  flags.number("kube-api-qps", options.queries_per_second, 0.1, 10000, "requests a second to the API server")
      .alias("rest-config-qps");
  flags.integer("kube-api-burst", options.query_burst, 1, 100000, "requests at once, before the rate holds")
      .alias("rest-config-burst");
}

void declare_flags(base::Flags& flags, ManagerOptions& options) {
  using std::chrono::seconds;
  declare_common_flags(flags, options);
  flags.group("Mode");
  flags.choice("mode", options.mode, {"enforce", "observe"},
               "observe: decide and show, and write nothing at all (no Lease and no event either); fit to run beside "
               "another manager");
  flags.group("Serving");
  flags
      .text("health-probe-addr", options.health_address,
            "address of /healthz and /readyz by themselves; empty or 0 is off")
      .placeholder("HOST:PORT")
      .alias("health-probe-bind-address");
  flags.group("Load");
  flags.duration("sync-period", options.sync_period, seconds(0), std::chrono::hours(24 * 365),
                 "interval in which every node is decided again; 0: only on changes and when due");
  flags.group("Features");
  flags.list("feature-gates", options.feature_gates, "", parse_feature_gates,
             "NAME=true or NAME=false, as the peer has them");
  flags.group("Leader election");
  flags.boolean("leader-elect", options.leader_elect, "only the replica that holds the lease writes")
      .alias("enable-leader-election");
  flags
      .text("leader-election-namespace", options.lease.ns,
            "namespace of the lease; empty: the pod's own, or that of the kubeconfig's context")
      .placeholder("NAMESPACE");
  flags.text("leader-election-id", options.lease.name, "name of the lease").placeholder("NAME");
  flags.duration("leader-elect-lease-duration", options.lease.lease_duration, seconds(2), seconds(3600),
                 "others take over when they saw no renewal for this long");
  flags.duration("leader-elect-renew-deadline", options.lease.renew_deadline, seconds(1), seconds(3600),
                 "the leader stops if it could not renew for this long");
  flags.duration("leader-elect-retry-period", options.lease.retry_period, std::chrono::milliseconds(100), seconds(600),
                 "pause between two looks at the lease");
  declare_webhook_flags(flags, options.webhooks);
}

}  // namespace tidemark::manager

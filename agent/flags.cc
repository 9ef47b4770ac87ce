#include "agent/agent.h"

namespace tidemark::agent {

void declare_flags(base::Flags& flags, AgentOptions& options) {
  flags.group("Node");
  flags.text("node-name", options.node_name, "name of this node (default $NODE_NAME)").placeholder("NAME");
  declare_machine_flags(flags, options.places);
  flags.text("sys-root", options.sys_root, "the machine's /sys").placeholder("DIR");
  flags.text("kernel-log", options.kernel_log, "kernel log: a file, or 'syslog' to use that system call in a container")
      .placeholder("FILE");

  options.tasks.add_to(flags);

  flags.group("Report");
  flags.boolean("enable-node-metric-report", options.report, "write the status of the node's NodeMetric");
  flags
      .text("state-dir", options.state_dir,
            "directory for learned models and the node's record; empty: nothing is kept")
      .placeholder("DIR");
  flags
      .integer("record-size", options.record_megabytes, 1, 1'000'000,
               "MiB for the node's record in --state-dir, for `tidemark incident`; the oldest lines "
               "are deleted first")
      .placeholder("MIB");
  flags.integer("prediction-safety-margin-percent", options.safety_margin_percent, 0, 100,
                "added to every predicted peak");

  flags.group("Protection");
  flags.choice("mode", options.mode, {"enforce", "observe"},
               "mode of strategies that the manager does not configure: enforce writes "
               "to the kernel, or only shown");
  flags.boolean("reaction", options.reaction,
                "between two decisions, limit offline work within a tenth of a second if online work begins "
                "to use more");
  flags
      .duration("line-ends-within", options.line_ends_within, base::Duration(0), kLineEndsWithinMax,
                "time over which nodes spread the lowering of ended raised thresholds if no manager writes it "
                "sooner")
      .placeholder("DURATION");
  flags
      .text("peer-namespace", options.peers_namespace,
            "namespace of Koordinator's agent: if a container named koordlet runs there, only observe")
      .placeholder("NAME");
  flags.text("pod-logs", options.pod_logs, "directory of pod logs, which count as disk use of their pods")
      .placeholder("DIR");
  flags
      .duration("yarn-hold-back", options.yarn_hold_back, base::Duration(0), kHoldBackMax,
                "time in which YARN gets no replacement for a preempted container")
      .placeholder("DURATION");
  flags.list("feature-gates", options.feature_gates, "", parse_feature_gates,
             "NAME=true or NAME=false, as in Koordinator; used if the manager does not configure it");

  flags.group("Serving");
  flags
      .text("metrics-addr", options.metrics_address,
            "address of /metrics, /healthz and /readyz; port 0 picks one, 0 is off")
      .placeholder("HOST:PORT")
      .alias("addr");

  flags.group("Load");
  flags.number("kube-api-qps", options.queries_per_second, 0.1, 1000, "requests a second to the API server");
  flags.integer("kube-api-burst", options.query_burst, 1, 1000, "requests at once, before the rate holds");
}

}  // namespace tidemark::agent

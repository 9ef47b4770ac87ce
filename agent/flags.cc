#include "agent/agent.h"

namespace tidemark::agent {

void declare_flags(base::Flags& flags, AgentOptions& options) {
  flags.group("Node");
  flags.text("node-name", options.node_name, "the node that this is; else $NODE_NAME").placeholder("NAME");
  declare_machine_flags(flags, options.places);
  flags.text("sys-root", options.sys_root, "the machine's /sys").placeholder("DIR");
  flags
      .text("kernel-log", options.kernel_log,
            "the kernel's log: a file, or the word syslog, by that call: in a container, which has no such file")
      .placeholder("FILE");

  options.tasks.add_to(flags);

  flags.group("Report");
  flags.boolean("enable-node-metric-report", options.report, "the status of the node's NodeMetric is written");
  flags
      .text("state-dir", options.state_dir,
            "folder for what is learned of the node's pods and for its record; empty: nothing is kept")
      .placeholder("DIR");
  flags
      .integer("record-size", options.record_megabytes, 1, 1'000'000,
               "MiB that the record of what was measured may take in --state-dir, for `tidemark incident`; what is "
               "oldest goes first")
      .placeholder("MIB");
  flags.integer("prediction-safety-margin-percent", options.safety_margin_percent, 0, 100,
                "on top of every peak that is predicted");

  flags.group("Protection");
  flags.choice("mode", options.mode, {"enforce", "observe"},
               "what is done with what is decided for the groups of this node, where the manager does not say: written "
               "to the kernel, or only shown");
  flags.boolean(
      "reaction", options.reaction,
      "between two decisions, narrow what offline work has within a tenth of a second where online work begins "
      "to use more");
  flags
      .duration(
          "line-ends-within", options.line_ends_within, base::Duration(0), kLineEndsWithinMax,
          "so long nodes take, each in its turn, to lower a raised line that has ended, where no manager writes it "
          "sooner")
      .placeholder("DURATION");
  flags
      .text("peer-namespace", options.peers_namespace,
            "where Koordinator's agent is installed: beside a container named koordlet there this one only observes")
      .placeholder("NAME");
  flags
      .text("pod-logs", options.pod_logs,
            "the folder of the pods' logs, of which the last lines are kept in --state-dir when a pod is evicted")
      .placeholder("DIR");
  flags
      .duration("yarn-hold-back", options.yarn_hold_back, base::Duration(0), kHoldBackMax,
                "so long YARN is handed out nothing new in the place of a container that was taken back")
      .placeholder("DURATION");
  flags.list("feature-gates", options.feature_gates, "", parse_feature_gates,
             "NAME=true or NAME=false, as the peer has them: what is done where the manager does not say");

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

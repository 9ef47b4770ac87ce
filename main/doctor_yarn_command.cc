#include "base/metrics.h"
#include "cli/yarn/doctor_yarn.h"
#include "main/hadoop_folder.h"
#include "main/kerberos.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "net/worker.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kDoctorNamesAtOnce = 100;  // host names of ResourceManagers that are resolved

}  // namespace

int run_doctor_yarn(const std::vector<std::string>& args) {
  base::Flags flags("tidemark doctor yarn",
                    "Reports problems at the ResourceManagers of Hadoop's files, and the remedy. Exit codes: 0 no "
                    "problem, 1 problem found, 2 wrong use.");
  yarn_operator::YarnOptions yarn;
  cli::YarnDoctorOptions options;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  AnswerForm form;
  yarn_operator::declare_yarn_flags(flags, yarn);
  declare_answer_flags(flags, form, options.limit);
  declare_log_flags(flags, log_options);
  flags.arguments("yarn", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  auto clusters = clusters_if_told(yarn, &options.invalid);
  if (!clusters) return failed(clusters.error());
  if (clusters->empty()) return wrong_use("--hadoop-conf-dir is not set, and neither is $HADOOP_CONF_DIR", flags);
  options.clusters = std::move(*clusters);

  const base::SystemClock clock;
  base::Registry metrics;
  const LogOutput log_output(clock, log_options, metrics);
  const base::Log log = log_output.named("doctor");
  for (auto& each : options.clusters) {
    if (auto able = speak_kerberos(each.managers, yarn.kerberos, log); !able) return failed(able.error());
  }
  net::EventLoop loop(clock);
  net::WorkerPool workers(1, kDoctorNamesAtOnce);
  options.workers = &workers;
  int code = kFailed;
  const auto examine_then_stop = [&]() -> net::Task<void> {
    const auto report =
        co_await cli::examine_yarn(loop, base::Random(base::Random::seed_from_system()), std::move(options));
    code = print(form.json() ? cli::render_json(report).dump_pretty() + "\n"
                             : policy::explain::render_text(report.findings));
    if (report.worst() == policy::explain::Severity::kBad) code = kFailed;
    loop.stop();
  };
  net::Scope scope(loop);
  scope.spawn(examine_then_stop());
  loop.run();
  return code;
}

}  // namespace tidemark::main

#include "agent/report/node_metric_controller.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "kube/node_metric_encode.h"

namespace tidemark::agent {
namespace {

// A report that has not arrived by then is made anew from newer samples.
constexpr base::Duration kFirstAlone = std::chrono::seconds(3);  // some readings of a second each
constexpr base::Duration kWriteLimit = std::chrono::seconds(10);

std::string_view word(policy::sell::ReportWhy why) {
  switch (why) {
    case policy::sell::ReportWhy::kNotYet:
      return "not-yet";
    case policy::sell::ReportWhy::kNoObject:
      return "no-object";
    case policy::sell::ReportWhy::kInterval:
      return "interval";
    case policy::sell::ReportWhy::kLargeChange:
      return "large-change";
    case policy::sell::ReportWhy::kFailedLast:
      return "failed-last";
  }
  return "";
}

kube::InformerConfig only(const std::string& node_name) {
  kube::InformerConfig config;
  config.resource = kube::kNodeMetrics;
  config.field_selector = "metadata.name=" + node_name;
  config.may_be_absent = true;
  return config;
}

kube::NodeMetricFields spec_alone() {
  kube::NodeMetricFields fields;
  fields.pods = false;
  return fields;
}

}  // namespace

NodeMetricController::NodeMetricController(net::EventLoop& loop, kube::Client& client, kube::Interner& interner,
                                           const base::Log& log, base::Registry& metrics, base::Random random,
                                           NodeMetricOptions options)
    : loop_(loop),
      client_(client),
      interner_(interner),
      log_(log),
      metrics_(metrics),
      options_(std::move(options)),
      rights_(client, client, log),
      objects_({loop, rights_, rights_, log, metrics, random.fork()}, only(options_.node_name),
               [this](std::string_view bytes) { return kube::decode_node_metric(bytes, spec_alone(), interner_); }),
      history_(policy::sell::CollectInForce()),
      spread_(base::Duration(random.below(static_cast<std::uint64_t>(policy::sell::kReportRetry.count())))),
      has_object_(metrics.gauge("tidemark_agent_node_metric", "1 if the agent sees a NodeMetric to write to.")),
      failed_(metrics.counter("tidemark_agent_reports_failed_total", "NodeMetrics that could not be written.")),
      last_report_(metrics.gauge("tidemark_agent_report_time_seconds", "When the last report arrived, since 1970.")),
      scope_(loop) {
  objects_.subscribe(
      [this](const kube::ObjectKey&, const kube::NodeMetric*, const kube::NodeMetric* after) { spec_changed(after); });
}

void NodeMetricController::start() {
  scope_.spawn(objects_.run());
}

std::string NodeMetricController::not_ready() const {
  if (!rights_.missing().empty()) return rights_.missing();
  if (!objects_.synced()) return "its NodeMetric is not listed yet";
  return "";
}

void NodeMetricController::spec_changed(const kube::NodeMetric* metric) {
  if (metric == nullptr) return;  // the last request stays until there is a new one
  policy::sell::CollectAsked asked;
  if (metric->policy) {
    asked.aggregate_duration_s = metric->policy->aggregate_duration_s;
    asked.report_interval_s = metric->policy->report_interval_s;
    asked.durations = metric->policy->aggregate_durations;
    asked.memory_collect_policy = metric->policy->memory_collect_policy.view();
  }
  const policy::sell::CollectInForce wanted = policy::sell::collect_in_force(asked, options_.hot_page_cache);
  if (wanted == history_.collect()) return;
  if (wanted.memory_not_as_asked) {
    log_.warn("memory is reported without page cache; the kernel lacks the requested value",
              {{"asked", asked.memory_collect_policy}});
  }
  if (wanted.durations_left_out > 0 || wanted.durations_not_whole > 0) {
    log_.warn("durations beyond the kept samples", {{"left_out", std::to_string(wanted.durations_left_out)},
                                                    {"not_whole", std::to_string(wanted.durations_not_whole)}});
  }
  history_.set_collect(wanted);
}

void NodeMetricController::observe(const Observed& observed, model::Resources capacity) {
  history_.observe(observed.readings());
  if (writing_) return;
  const base::MonotonicTime now = observed.readings().at;
  policy::sell::ReportObservation seen;
  seen.levels = policy::sell::reported_levels(history_, now);
  seen.capacity = capacity;
  seen.back = objects_.core().back_since();
  seen.object_exists = objects_.find({"", options_.node_name}) != nullptr;
  seen.outcome = std::exchange(outcome_, std::nullopt);
  seen.outcome_levels = std::exchange(outcome_levels_, std::nullopt);
  has_object_.set(seen.object_exists ? 1 : 0);
  policy::sell::ReportConfig config{history_.collect().report_interval, true, spread_};
  if (options_.alone) config = {config.interval, true, base::Duration(0), kFirstAlone};
  auto step = policy::sell::report_due(due_, seen, config, now);
  due_ = std::move(step.state);
  if (step.plan.report && options_.write) attempt(observed, step.plan);
}

void NodeMetricController::attempt(const Observed& observed, const policy::sell::ReportPlan& plan) {
  const base::MonotonicTime now = observed.readings().at;
  policy::sell::usage_report(history_, observed.subjects(), now, loop_.clock().wall(), scratch_, report_);
  report_.prod_reclaimable.reset();
  report_.prod_peak.reset();
  if (predict_) {
    const Predicted predicted = predict_();
    report_.prod_reclaimable = predicted.reclaimable;
    report_.prod_peak = predicted.peak;
  }
  writing_ = true;
  scope_.spawn(
      write(base::cat(R"([{"op":"add","path":"/status","value":)", kube::encode_node_metric_status(report_), "}]"),
            {report_.node_usage, report_.system_usage}, plan.why));
}

// The status is written whole: a merge would keep fields that it does not name.
net::Task<void> NodeMetricController::write(std::string body, policy::sell::ReportedLevels told,
                                            policy::sell::ReportWhy why) {
  kube::WriteOptions options;
  options.subresource = "status";
  const auto written = co_await client_.patch(kube::kNodeMetrics, options_.node_name, kube::PatchType::kJson,
                                              std::move(body), std::move(options), kWriteLimit);
  writing_ = false;
  outcome_ = written ? policy::sell::ReportOutcome::kArrived : policy::sell::ReportOutcome::kFailed;
  if (!written) {
    log_.warn("cannot write the NodeMetric", {{"error", written.error().message}});
    failed_.add();
    failing_ = true;
    co_return;
  }
  metrics_
      .counter("tidemark_agent_reports_total", "NodeMetrics that were written, by what made them due.",
               {{"reason", word(why)}})
      .add();
  if (std::exchange(failing_, false)) log_.info("the NodeMetric is written again");
  outcome_levels_ = told;
  last_report_.set(std::chrono::duration<double>(loop_.clock().wall().since_epoch).count());
}

}  // namespace tidemark::agent

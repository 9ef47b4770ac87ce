// Learns the use of the node's pods once a minute, and predicts which part of online pods' requests will not be used
// (policy/sell/prediction). Models are saved in a folder, twelve per minute, each every ten minutes: a restart loses
// that
// much, or more if there are over a hundred models.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/prediction/model_store.h"
#include "agent/report/observed.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/sell/prediction/models.h"
#include "policy/sell/prediction/prediction.h"
#include "policy/sell/usage/usage_history.h"

namespace tidemark::agent {

struct PredictionOptions {
  std::string folder;  // "": nothing is kept
  policy::sell::PredictionConfig config;
};

class PredictionController {
 public:
  PredictionController(net::EventLoop& loop, net::WorkerPool& workers, const base::Log& log, base::Registry& metrics,
                       PredictionOptions options);

  void start();

  // Call after each pass of the sampler, once its samples are in `history`.
  void observe(const Observed& observed, const policy::sell::UsageHistory& history);
  // `allocatable` of the node; nullopt: unknown.
  policy::sell::Prediction predict(const Observed& observed, const policy::sell::UsageHistory& history,
                                   std::optional<model::Resources> allocatable);

 private:
  // One file operation at a time; one that hangs is logged.
  template <class T>
  net::Task<Result<T>> on_disk(std::function<T()> work);
  void tell_slow_disk(base::MonotonicTime now);
  net::Task<void> load();
  net::Task<void> store(std::vector<StoredModel> models, std::vector<std::string> dropped);
  std::vector<StoredModel> encoded(const std::vector<std::string>& keys) const;

  net::EventLoop& loop_;
  net::WorkerPool& workers_;
  base::Log log_;
  PredictionOptions options_;
  policy::sell::UsageModels models_;
  policy::sell::WindowScratch scratch_;
  std::vector<policy::sell::TrainingPod> training_;
  std::vector<policy::sell::PredictedPod> predicted_;
  std::vector<std::string> dropped_;  // to be removed at the next save
  std::optional<base::MonotonicTime> trained_;
  bool loaded_ = false;  // nothing is learned before: a stored model must not be started again
  bool storing_ = false;
  bool failing_ = false;
  std::optional<base::MonotonicTime> at_disk_;  // start of the current file operation
  bool slow_disk_told_ = false;
  base::Gauge& model_count_;
  base::Counter& failed_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent

// Learns what the node's pods use, once a minute, and says what of the requests of online pods is not going to be used
// (policy/prediction). What was learned is kept in a folder, twelve models a minute, each
// every ten minutes: that is what a restart forgets, or longer where there are more than a hundred models.
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
#include "policy/prediction/models.h"
#include "policy/prediction/prediction.h"
#include "policy/usage/usage_history.h"

namespace tidemark::agent {

struct PredictionOptions {
  std::string folder;  // "": nothing is kept
  policy::PredictionConfig config;
};

class PredictionController {
 public:
  PredictionController(net::EventLoop& loop, net::WorkerPool& workers, const base::Log& log, base::Registry& metrics,
                       PredictionOptions options);

  void start();

  // After each pass of the sampler, once its samples are in `history`.
  void observe(const Observed& observed, const policy::UsageHistory& history);
  // `allocatable` of the node; nullopt: not known.
  policy::Prediction predict(const Observed& observed, const policy::UsageHistory& history,
                             std::optional<model::Resources> allocatable);

 private:
  // One work on files at a time, of which one that does not come to its end is told.
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
  policy::UsageModels models_;
  policy::WindowScratch scratch_;
  std::vector<policy::TrainingPod> training_;
  std::vector<policy::PredictedPod> predicted_;
  std::vector<std::string> dropped_;  // to be removed with the next store
  std::optional<base::MonotonicTime> trained_;
  bool loaded_ = false;  // until then nothing is learned: a model that was stored must not be begun anew
  bool storing_ = false;
  bool failing_ = false;
  std::optional<base::MonotonicTime> at_disk_;  // since when
  bool slow_disk_told_ = false;
  base::Gauge& model_count_;
  base::Counter& failed_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent

// The learned models of a node: one each for its pods, for the node, for each priority class and for the system's part
// (contract 7.13). Once a minute:
//
//    pod      p90 of its last minute, if it has samples of both resources
//    class    the sum of its pods', 0 without pods: all five, "none" too
//    system   max(node − Σ pods − beside them, 0), if the node has one
//
// A model that was not trained for kModelUnknownMax is dropped.
//
// Time in here never goes back and never leaps: if the wall clock is set back, no time has passed; if it jumps ahead,
// at most kModelStepMax. So a wrong clock costs no history.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/qos.h"
#include "model/resources.h"
#include "policy/sell/prediction/checkpoint.h"
#include "policy/sell/prediction/histogram.h"
#include "policy/sell/usage/sample_ring.h"

namespace tidemark::policy::sell {

inline constexpr base::Duration kTrainEvery = std::chrono::minutes(1);
inline constexpr base::Duration kModelUnknownMax = std::chrono::minutes(30);
inline constexpr base::Duration kModelStepMax = std::chrono::hours(24 * 7);
inline constexpr std::size_t kPodModelsMax = 1024;
inline constexpr std::size_t kModelBytesMax = 3400;  // 158 + 205 buckets of 8 bytes, its name, and the rest

// Koordinator's names for the models that are not pods.
inline constexpr std::string_view kNodeModelKey = "__node__";
inline constexpr std::string_view kSystemModelKey = "__node-sys__";
std::string_view class_model_key(model::PriorityClass priority);  // "__node-koord-prod__"; of none "__node-__"
bool is_node_model_key(std::string_view key);                     // any of the seven

struct UsageModel {
  UsageModel();
  DecayingHistogram cpu;     // cores
  DecayingHistogram memory;  // bytes
  base::WallTime begun;      // in the time of the models, as those below
  base::WallTime trained;
  std::optional<base::WallTime> stored;

  std::size_t bytes() const;
};

struct TrainingPod {
  std::string_view uid;
  model::PriorityClass priority = model::PriorityClass::kNone;  // with default
  std::optional<UsageFigures> use;                              // UsageHistory::training_sample()
};

struct TrainingPass {
  std::optional<UsageFigures> node;
  std::span<const TrainingPod> pods;
  // Offline work outside pods, YARN's containers. Koordinator counts it as part of the system.
  UsageFigures beside_pods{};
};

// The expected upper limit: p95 of CPU, p98 of memory, rounded down to the unit.
struct ModelPeak {
  model::Resources peak;
  bool operator==(const ModelPeak&) const = default;
};

class UsageModels {
 public:
  // Returns the dropped keys: their stored models must be removed.
  std::vector<std::string> train(const TrainingPass& pass, base::WallTime now);

  std::optional<ModelPeak> peak(std::string_view key) const;  // nullopt if there is no such model
  const UsageModel* find(std::string_view key) const;
  std::size_t size() const { return models_.size(); }
  std::size_t refused() const { return refused_; }  // pods beyond kPodModelsMax and keys that are none, so far
  std::size_t bytes() const;

  // The models to store now: never stored, or kStoreEvery ago; first those not stored for longest (a new model since
  // its start), so that no model waits for ever, however many pods come. kStoreMax of them.
  std::vector<std::string> to_store(base::WallTime now) const;
  std::optional<ModelCheckpoint> checkpoint(std::string_view key, base::WallTime now) const;
  void stored(std::string_view key, base::WallTime now);
  // Adds a model from before a restart. A time in the future counts as now. A known key stays unchanged.
  bool restore(const ModelCheckpoint& checkpoint, base::WallTime now);

 private:
  struct Named {
    std::string key;
    UsageModel model;
  };
  // The time of the models at `now`, and how it is reckoned from here on.
  base::WallTime advance(base::WallTime now);
  base::WallTime model_time(base::WallTime now) const;
  UsageModel* place(std::string_view key, base::WallTime at);  // null if there is no room
  void add(std::string_view key, const UsageFigures& use, base::WallTime at);

  std::vector<Named> models_;  // by key
  std::size_t pods_ = 0;
  std::size_t refused_ = 0;
  std::optional<base::WallTime> last_;  // the last pass, by the wall clock
  base::Duration offset_{0};            // the models' time − the wall clock's
};

inline constexpr base::Duration kStoreEvery = std::chrono::minutes(10);
inline constexpr std::size_t kStoreMax = 12;  // in one pass of a minute

}  // namespace tidemark::policy::sell

// Publishes workload profiles as Recommendation objects (analysis.koordinator.sh) if the settings enable it: one per
// workload, in its namespace, named KIND-NAME in lower case, with a label for the owner.
//
// Level-triggered: each pass of the leader lists our objects and creates, updates or deletes as needed, with a bounded
// number of writes; an amount only if it differs by more than the tolerance. An object of such a name without our
// label has another owner and stays unchanged. The object of a running workload without a profile (no room to store
// it, for example) stays, marked as stale.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "manager/capacity/pod_projection.h"
#include "manager/profiles/profile_book.h"
#include "manager/shared.h"
#include "net/loop.h"
#include "policy/waterline/profile/recommendation.h"
#include "policy/waterline/profile/settings.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::manager {

inline constexpr kube::Resource kRecommendations{"analysis.koordinator.sh", "v1alpha1", "recommendations",
                                                 "Recommendation", true};
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManagedBy = "tidemark-manager";
inline constexpr std::size_t kRecommendationWritesMax = 100;  // a round

struct RecommenderContext {
  std::function<bool()> leading;
  const kube::Informer<PodProjection>& pods;
  const ProfileBook& book;
  std::function<bool()> all_read;  // all that was stored of profiles is in the book: what is not there is not known
  std::function<const policy::waterline::ProfileSettings&()> settings;
  base::Duration write_limit;
  std::size_t writes_max = kRecommendationWritesMax;
};

// One of ours, as the server has it.
struct PublishedRecommendation {
  std::string uid;
  std::string resource_version;
  policy::waterline::Workload target;
  policy::waterline::Recommendation told;
  bool old = false;  // it says so: nothing newer is known
};
// Error: not one that could be ours.
Result<PublishedRecommendation> read_recommendation(const Json& object);
std::string recommendation_name(const policy::waterline::Workload& workload);
Json recommendation_object(const policy::waterline::Workload& workload);
Json recommendation_status(const policy::waterline::Recommendation& wanted, std::string_view resource_version,
                           base::WallTime now);
// Keeps the values and their time, and marks them as stale.
Json recommendation_old(std::string_view resource_version, base::WallTime now);

class Recommender {
 public:
  Recommender(const Shared& shared, RecommenderContext context);

  void start();  // until destroyed

 private:
  using Published = std::map<std::string, PublishedRecommendation, std::less<>>;  // by workload
  struct Write {
    std::string name;
    bool foreign = false;    // what others hold comes last, so that the rest does not starve behind it
    bool was_asked = false;  // what the last round did not come to, first
    std::optional<policy::waterline::Recommendation> wanted;  // nullopt: what is there is old
    const PublishedRecommendation* there = nullptr;
  };
  using Names = std::set<std::string, std::less<>>;

  net::Task<void> run();
  net::Task<Result<void>> round(bool publish);
  net::Task<Result<Published>> list_ours();
  std::map<std::string, std::string, std::less<>> containers_by_workload() const;
  // What was stored, and what runs, is known: what is not there is nowhere.
  bool knows_all() const { return context_.all_read() && context_.pods.synced(); }
  // What is to be written, and added to `stays` whose object does.
  std::vector<Write> writes(const Published& published, Names& stays) const;
  net::Task<Result<void>> write(policy::waterline::Workload workload,
                                std::optional<policy::waterline::Recommendation> wanted,
                                const PublishedRecommendation* there);
  net::Task<Result<void>> take_away(std::string ns, std::string name, std::string uid);
  void count(model::Reason reason);

  std::string last_written_;  // the workload that the last round came to
  bool more_ = false;         // the last round had no room for all that is to be taken away
  Shared shared_;
  RecommenderContext context_;
  base::Log log_;
  Names foreign_;  // workloads whose object has another owner
  base::Gauge& old_;
  base::Gauge& foreign_count_;
  base::Counter& errors_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager

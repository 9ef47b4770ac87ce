#include "manager/capacity/least_offers.h"

#include <utility>
#include <vector>

namespace tidemark::manager {

LeastOffers::LeastOffers(HistoryContext context, std::function<bool()> wanted,
                         std::function<bool(const model::NodeName&)> known, const base::Log& log)
    : wanted_(std::move(wanted)),
      known_(std::move(known)),
      store_(std::move(context), {std::string(kLeastKind), kLeastVersion, kHistoryShardsMax},
             {[this] { return wanted_(); }, [] { return base::Duration(std::chrono::hours(1)); },
              [this](const StoredRecord& stored) -> Result<void> {
                TM_TRY(const auto kept, stored.version.schema < kLeastVersion.schema
                                            ? policy::sell::decode_least_text(stored.record.bytes)
                                            : policy::sell::decode_least(stored.record.bytes));
                const model::NodeName node(stored.record.name);
                if (!known_(node)) return {};  // it is gone: its record goes with the next write
                auto& offers = offers_[node];
                offers = policy::sell::with_kept(offers, kept);
                return {};
              },
              [this] {
                std::vector<std::string> names;
                names.reserve(offers_.size());
                for (const auto& [node, offers] : offers_) names.push_back(node.value);
                return names;
              },
              [this](const std::string& name) -> std::optional<HistoryRecord> {
                const auto at = offers_.find(model::NodeName(name));
                if (at == offers_.end() || !at->second.any()) return std::nullopt;
                return HistoryRecord{name, policy::sell::encode_least(at->second), 1};
              }},
             log) {}

void LeastOffers::start() {
  store_.start();
}

std::optional<model::Resources> LeastOffers::at(const model::NodeName& node, base::WallTime now) const {
  const auto found = offers_.find(node);
  return found == offers_.end() ? std::nullopt : policy::sell::least_at(found->second, now);
}

void LeastOffers::learn(const model::NodeName& node, const model::Resources& could, base::WallTime now) {
  auto& offers = offers_[node];
  auto step = policy::sell::learn_least(offers, could, now);
  offers = step.offers;
  if (step.learned) store_.changed();
}

}  // namespace tidemark::manager

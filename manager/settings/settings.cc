#include "manager/settings/settings.h"

namespace tidemark::manager {

Settings::Settings(const Shared& shared, const SettingsContext& context, base::Random random)
    : random_(random),
      rollout_(
          shared, context, random_.fork(),
          [this](const SettingsChange& change) {
            for (const auto& listener : listeners_) listener(change);
          },
          [this] { source_.let_go_of_tidemark(); }),
      source_(shared, {context.config_namespace, context.config_name, context.zones}, random_.fork(),
              [this] { rollout_.source_changed(source_.newest(), source_.usable()); }),
      read_(shared.loop),
      scope_(shared.loop) {}

void Settings::start() {
  source_.start();
  rollout_.start();
  scope_.spawn(read_first());
}

net::Task<void> Settings::read_first() {
  while (!co_await rollout_.wait_synced(std::chrono::minutes(1))) {
  }
  while (!co_await source_.wait_synced(std::chrono::minutes(1))) {
  }
  // A text that cannot be used now was perhaps good when the process before this one read it.
  if (const Revision* last_good = rollout_.load()) source_.seed(*last_good);
  source_.take();
  read_.set();
}

net::Task<bool> Settings::wait_read(base::Duration limit) {
  return read_.wait_for(limit);
}

std::string Settings::not_ready() const {
  if (!read_.is_set()) return "the configuration is not read yet";
  if (!source_.usable()) return "the configuration is invalid, and no earlier one exists";
  return "";
}

}  // namespace tidemark::manager

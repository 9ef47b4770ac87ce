// A provider that says what a test tells it to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/tasks/provider.h"
#include "base/text.h"

namespace tidemark::agent::testing {

class Provider final : public TaskProvider {
 public:
  Provider(std::string name, model::TaskKind kind) : name_(std::move(name)), kind_(kind) { said_.change = 1; }

  std::string_view name() const override { return name_; }
  const ProvidedTasks& provided() const override { return said_; }

  // "NAME PATH"; NAME alone has no group.
  void say(const std::vector<std::string>& tasks) {
    said_.tasks.clear();
    said_.unconfirmed = 0;
    for (const std::string& each : tasks) {
      const auto words = base::split(each, ' ');
      model::Task task;
      task.kind = kind_;
      task.identity.source = name_;
      task.identity.task = task.name = words[0];
      if (words.size() > 1) task.path = words[1];
      said_.tasks.push_back(std::make_shared<model::Task>(std::move(task)));
    }
    ++said_.change;
  }
  // All that it said, no more.
  void forget() {
    said_.unconfirmed = said_.tasks.size();
    ++said_.change;
  }
  void confirm(base::MonotonicTime at) { said_.confirmed = at; }
  void refuse(std::size_t entries) { said_.refused = entries; }
  void refuse_list() { ++said_.lists_refused; }
  void stand(ProviderState state) {
    said_.state = state;
    ++said_.change;
  }

 private:
  std::string name_;
  model::TaskKind kind_;
  ProvidedTasks said_;
};

}  // namespace tidemark::agent::testing

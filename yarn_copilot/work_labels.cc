#include "yarn_copilot/work_labels.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/names.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::size_t kWordBytesMax = 63;  // of a label's value
constexpr std::string_view kRoot = "root.";

struct Word {
  std::string_view tag;
  std::string_view label;
};
constexpr std::array kWords{Word{"tidemark-class:", model::kClassLabel},
                            Word{"tidemark-business:", model::kBusinessLabel}, Word{"tidemark-job:", model::kJobLabel}};

bool is_word(std::string_view text) {
  constexpr auto ends_well = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || text.size() > kWordBytesMax || !ends_well(text.front()) || !ends_well(text.back())) return false;
  return std::ranges::all_of(text, [&](char c) { return ends_well(c) || c == '-' || c == '_' || c == '.'; });
}

std::string_view below_root(std::string_view queue) {
  return queue.starts_with(kRoot) ? queue.substr(kRoot.size()) : queue;
}

// The queue itself, a queue below it, or one with that last name.
bool holds(std::string_view rule, std::string_view queue) {
  rule = below_root(rule);
  queue = below_root(queue);
  if (queue == rule || rule == "root") return true;
  if (queue.size() <= rule.size()) return false;
  return (queue.starts_with(rule) && queue[rule.size()] == '.') ||
         (queue.ends_with(rule) && queue[queue.size() - rule.size() - 1] == '.');
}

}  // namespace

Result<std::vector<QueueClass>> read_queue_classes(std::span<const std::string> texts) {
  std::vector<QueueClass> out;
  for (const std::string& text : texts) {
    const auto equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::kInvalid, "wanted QUEUE=CLASS, found ", base::in_quotes(text));
    }
    QueueClass rule{text.substr(0, equals), text.substr(equals + 1)};
    if (!is_word(rule.work_class)) {
      return fail(ErrorKind::kInvalid, "the class in ", base::in_quotes(text), " is not a valid label value");
    }
    if (std::ranges::find(out, rule.queue, &QueueClass::queue) != out.end()) {
      return fail(ErrorKind::kInvalid, "the queue ", base::in_quotes(rule.queue), " has two classes");
    }
    out.push_back(std::move(rule));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> work_labels(const hadoop::ApplicationReport& report,
                                                             const std::vector<QueueClass>& queues) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto has = [&](std::string_view label) {
    return std::ranges::find(out, label, &std::pair<std::string, std::string>::first) != out.end();
  };
  for (const Word& word : kWords) {
    for (const std::string& tag : report.tags) {
      if (has(word.label) || !tag.starts_with(word.tag)) continue;
      const std::string_view value = std::string_view(tag).substr(word.tag.size());
      if (is_word(value)) out.emplace_back(word.label, value);
    }
  }
  if (!has(model::kClassLabel)) {
    const QueueClass* best = nullptr;
    for (const QueueClass& each : queues) {
      if (!holds(each.queue, report.queue)) continue;
      if (best == nullptr || below_root(each.queue).size() > below_root(best->queue).size()) best = &each;
    }
    if (best != nullptr) out.emplace_back(model::kClassLabel, best->work_class);
  }
  return out;
}

}  // namespace tidemark::yarn_copilot

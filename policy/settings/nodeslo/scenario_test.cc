// Plays testdata/*.txt (policy/testing/scenario.h):
//
//   config PART TEXT     the ConfigMap's key now holds TEXT; (missing), (empty) and (no ConfigMap) are not texts
//   labels k=v …         the node's labels from here on
//   bandwidth TEXT       the node's network-bandwidth annotation; (none)
//   show PART            what the node's spec says of it, and whose strategy that is
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/yaml.h"
#include "policy/settings/nodeslo/nodeslo.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;

std::string_view first_word(std::string_view& line) {
  line = base::trim(line);
  const auto end = line.find(' ');
  const auto word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view() : base::trim(line.substr(end));
  return word;
}

model::SloPart part_of(std::string_view word) {
  constexpr std::array kWords{"threshold", "qos", "cpu-burst", "system", "host-applications"};
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) throw std::runtime_error(cat("no such part: ", word));
  return static_cast<model::SloPart>(found - kWords.begin());
}

class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const auto verb = first_word(line);
    if (verb.empty()) return {};
    if (verb == "config") return config(line);
    if (verb == "show") return {show(part_of(first_word(line)))};
    if (verb == "labels") {
      labels_.clear();
      for (const auto word : base::split(line, ' ')) {
        const auto equals = word.find('=');
        if (equals != std::string_view::npos) {
          labels_.push_back({std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))});
        }
      }
    } else if (verb == "bandwidth") {
      bandwidth_ = line == "(none)" ? std::nullopt : std::optional<std::string>(line);
    } else if (verb == "pool") {
      return layer(line, pool_);
    } else if (verb == "node") {
      return annotation(line);
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    return {};
  }

 private:
  static std::vector<std::string> told(const std::vector<waterline::Problem>& problems) {
    std::vector<std::string> out;
    for (const auto line : base::split(to_string(problems), '\n')) {
      if (!line.empty()) out.push_back(cat("> ", line));
    }
    return out;
  }

  // As tidemark-config says it of a pool.
  static std::vector<std::string> layer(std::string_view line, model::SloLayer& into) {
    waterline::Problems problems;
    const auto value = base::parse_yaml(line);
    if (!value) return {cat("> ", value.error().message)};
    auto read = read_slo_layer(&*value, "nodeSlo", problems);
    if (problems.any()) return told(problems.take());
    into = std::move(read);
    return {};
  }

  std::vector<std::string> annotation(std::string_view line) {
    if (line == "(none)") {
      node_ = {};
      return {};
    }
    auto read = parse_node_settings(line);
    if (!read) return told(read.error());
    node_ = std::move(*read);
    return {cat("> ", node_settings_json(node_).dump())};
  }

  std::vector<std::string> config(std::string_view line) {
    const model::SloPart part = part_of(first_word(line));
    model::ConfigSource source;
    source.found = line != "(no ConfigMap)";
    if (line == "(empty)") {
      source.text = "";
    } else if (source.found && line != "(missing)") {
      source.text = line;
    }
    auto step = next_slo_part(part, source);
    auto& running = config_.parts[static_cast<std::size_t>(part)];
    if (step.next) running = std::move(*step.next);
    std::vector<std::string> out{
        cat("> [", model::reason_id(step.reason), "]", step.problem.empty() ? "" : " ", step.problem)};
    for (const auto& entry : running.entries) {
      if (step.next && entry.reason != model::Reason::kConfigApplied) {
        out.push_back(cat("> entry ", entry.name, " [", model::reason_id(entry.reason), "] ", entry.problem));
      }
    }
    return out;
  }

  std::string show(model::SloPart part) {
    const std::optional<std::string_view> bandwidth =
        bandwidth_ ? std::optional<std::string_view>(*bandwidth_) : std::nullopt;
    const auto spec = slo_for(config_, labels_, bandwidth, std::nullopt, {&pool_, &node_.slo});
    const auto& shown = spec.parts[static_cast<std::size_t>(part)];
    const auto& entries = config_.of(part).entries;
    return cat("> ", shown.entry ? cat("entry ", entries[*shown.entry].name) : "cluster",
               shown.note ? cat(" [", model::reason_id(*shown.note), "]") : "", ": ",
               shown.text.empty() ? "left out" : shown.text);
  }

  SloConfig config_;
  std::vector<model::Label> labels_;
  std::optional<std::string> bandwidth_;
  model::SloLayer pool_;
  NodeSettings node_;
};

TEST(NodeSloScenario, Files) {
  testing::play_scenarios("policy/settings/nodeslo/testdata", 7, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::settings

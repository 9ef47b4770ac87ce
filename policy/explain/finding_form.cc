#include "policy/explain/finding_form.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::policy::explain {

using base::cat;

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kWarn:
      return "warn";
    case Severity::kBad:
      return "bad";
  }
  return "unknown";
}

std::string render_text(std::span<const FormedFinding> findings) {
  std::size_t severity_width = 0, topic_width = 0;
  for (const FormedFinding& one : findings) {
    severity_width = std::max(severity_width, to_string(one.severity).size());
    topic_width = std::max(topic_width, one.topic.size());
  }
  const auto padded = [](std::string_view text, std::size_t width) {
    return cat(text, std::string(width - text.size() + 2, ' '));
  };
  const std::string indent(severity_width + topic_width + 4, ' ');
  std::string out;
  for (const FormedFinding& one : findings) {
    std::string lead = padded(to_string(one.severity), severity_width) + padded(one.topic, topic_width);
    for (const std::string& line : one.found) {
      out += cat(lead, line, "\n");
      lead = indent;
    }
    if (!one.fix.empty()) out += cat(indent, "fix: ", one.fix, "\n");
  }
  return out;
}

Json render_json(const FormedFinding& finding) {
  return Json::object({{"what", Json(finding.key)},
                       {"severity", Json(to_string(finding.severity))},
                       {"found", Json(base::join(finding.found, "; "))},
                       {"fix", finding.fix.empty() ? Json(nullptr) : Json(finding.fix)},
                       {"reason", finding.reason ? Json(model::reason_id(*finding.reason)) : Json(nullptr)}});
}

}  // namespace tidemark::policy::explain

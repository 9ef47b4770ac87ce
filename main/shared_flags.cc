#include "main/shared_flags.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "base/utf8.h"
#include "main/person.h"
#include "policy/state/order.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kNamesShownMax = 20;

}  // namespace

void declare_namespace_flag(base::Flags& flags, std::string& config_namespace) {
  flags.group("Configuration");
  flags.text("config-namespace", config_namespace, "namespace of the manager's ConfigMaps").placeholder("NAMESPACE");
}

void declare_settings_flags(base::Flags& flags, std::string& config_namespace, std::string& config_name) {
  declare_namespace_flag(flags, config_namespace);
  flags.text("slo-config-name", config_name, "ConfigMap with the co-location settings").placeholder("NAME");
}

void declare_form_flag(base::Flags& flags, AnswerForm& form) {
  flags.group("Output");
  flags.choice("output", form.output, {"text", "json"}, "output format").alias("o");
}

void declare_timeout_flag(base::Flags& flags, base::Duration& limit) {
  flags.duration("timeout", limit, std::chrono::milliseconds(100), std::chrono::hours(1),
                 "timeout of one request to the API server");
}

void declare_answer_flags(base::Flags& flags, AnswerForm& form, base::Duration& limit) {
  declare_form_flag(flags, form);
  declare_timeout_flag(flags, limit);
}

base::Flag& declare_reason_flag(base::Flags& flags, std::string& reason) {
  return flags.text("reason", reason, "reason of the order, shown with it; required").placeholder("TEXT");
}

Said::Said() : by(person_name()) {}

void declare_said_flags(base::Flags& flags, Said& said) {
  flags.group("Order");
  // Said::wrong() checks --reason after the command checked its arguments, so that a misspelt argument is reported
  // first.
  declare_reason_flag(flags, said.reason);
  flags.text("by", said.by, "name of the person behind the order").placeholder("NAME");
}

std::string Said::wrong() const {
  if (reason.empty()) return "--reason is required; it is shown with the order";
  if (reason.size() > policy::state::kWhyBytesMax || base::trim(reason).empty()) {
    return base::cat("--reason: expected some text, at most ", policy::state::kWhyBytesMax, " bytes");
  }
  if (by.size() > policy::state::kByBytesMax) return base::cat("--by: at most ", policy::state::kByBytesMax, " bytes");
  if (!base::valid_utf8(reason) || !base::valid_utf8(by)) return "--reason and --by must be UTF-8";
  return "";
}

std::string first_names(std::span<const std::string> names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShownMax); ++i) {
    out += base::cat(i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kNamesShownMax) out += base::cat(" and ", names.size() - kNamesShownMax, " more");
  return out;
}

}  // namespace tidemark::main

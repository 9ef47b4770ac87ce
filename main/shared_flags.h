// Flags of several commands.
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "base/flags.h"

namespace tidemark::main {

// Location of a cluster's settings. Opens the group "Configuration".
void declare_namespace_flag(base::Flags& flags, std::string& config_namespace);
void declare_settings_flags(base::Flags& flags, std::string& config_namespace, std::string& config_name);

// The output format. Opens the group "Output".
struct AnswerForm {
  std::string output = "text";
  bool json() const { return output == "json"; }
};
void declare_form_flag(base::Flags& flags, AnswerForm& form);
void declare_timeout_flag(base::Flags& flags, base::Duration& limit);
void declare_answer_flags(base::Flags& flags, AnswerForm& form, base::Duration& limit);

base::Flag& declare_reason_flag(base::Flags& flags, std::string& reason);

// The author of an order, and the reason. Opens the group "Order".
struct Said {
  Said();  // `by` is person_name()

  std::string reason;
  std::string by;

  std::string wrong() const;  // the error; "" if the flags are valid
};
void declare_said_flags(base::Flags& flags, Said& said);

// "a, b and 7 more".
std::string first_names(std::span<const std::string> names);

}  // namespace tidemark::main

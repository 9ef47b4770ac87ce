// Any bytes give a bounded value or an error that names what was read. A value is written so that it reads back.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "copilot/container.h"
#include "copilot/yarn_id.h"

namespace {

using namespace tidemark;

template <class T>
void check(const Result<T>& read) {
  if (!read) TM_CHECK(read.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(copilot::read_items(bytes));
  check(copilot::read_information(bytes));
  check(copilot::read_container(bytes));
  const auto containers = copilot::read_containers(bytes);
  check(containers);
  if (containers) {
    TM_CHECK(containers->containers.size() + containers->refused.size() <= copilot::kContainersMax, "a bounded list");
    for (const auto& each : containers->refused) TM_CHECK(each.kind == ErrorKind::kInvalid, "bad bytes are bad input");
    for (const auto& each : containers->containers) {
      TM_CHECK(each.group.size() <= copilot::kTextBytesMax && each.labels.size() <= copilot::kLabelsMax,
               "of bounded ones");
      std::string text;
      base::JsonWriter writer(text);
      copilot::write(writer, each);
      const auto again = copilot::read_container(text);
      if (each.name.empty()) continue;
      TM_CHECK(again.has_value(), "what was written reads back");
      TM_CHECK(again->group == each.group && again->requests == each.requests, "as what it was");
    }
  }
  if (const auto id = copilot::parse_yarn_container(bytes)) {
    TM_CHECK(id->application.starts_with("application_") && id->attempt.starts_with("appattempt_"), "whole names");
  }
  return 0;
}

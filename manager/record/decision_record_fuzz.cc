// Any bytes are a record or are refused; what is read is decided again without harm.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "journal/frame.h"
#include "manager/record/replay.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  static const auto kSettings = [] {
    policy::settings::SettingsTexts texts;
    texts.slo["colocation-config"] = R"({"enable":true})";
    return manager::settings_blob(
        *manager::revision_of(texts, [](std::string_view) { return policy::waterline::Zones(); }));
  }();
  journal::Start start;
  start.schema = manager::kRecordSchema;
  start.owner = manager::reason_table();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(manager::settings_of(bytes));

  // A record whose settings and labels are there: the rest is the fuzzer's.
  const auto on_node = journal::make_blob(std::string("\0\0", 2));
  std::string payload(1, manager::kDecisionRecord);
  journal::Packer packer(payload);
  packer.number(0);
  packer.text("n");
  packer.natural(kSettings->hash);
  packer.natural(on_node->hash);
  payload += bytes;
  std::string segment;
  journal::append_frame(segment, encode(start));
  for (const auto& blob : {kSettings, on_node}) journal::append_frame(segment, encode(*blob));
  journal::append_frame(segment, payload);
  const auto parsed = journal::Segment::parse(std::move(segment));
  auto decisions = manager::RecordedDecisions::make(parsed);
  TM_CHECK(decisions.has_value(), "the start is right");
  const auto replayed = decisions->replay(parsed.records()[0]);
  if (replayed) static_cast<void>(decisions->as_recorded(*replayed));
  return 0;
}

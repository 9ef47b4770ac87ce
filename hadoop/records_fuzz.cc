// Any bytes as a server's answer: a bounded value, or an error. What is read of a stream does not depend on its pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "hadoop/applications.h"
#include "hadoop/containers.h"
#include "hadoop/rpc_frames.h"
#include "hadoop/yarn_records.h"

namespace {

using namespace tidemark;

template <class T>
void check(const Result<T>& read) {
  if (!read) TM_CHECK(read.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
}

std::vector<std::string> frames(std::string_view bytes, std::size_t piece) {
  hadoop::FrameReader reader;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.append(bytes.substr(at, piece));
    while (true) {
      const auto frame = reader.next();
      check(frame);
      if (!frame) return found;
      if (!*frame) break;
      found.emplace_back(**frame);
    }
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto answer = hadoop::read_answer(bytes);
  check(answer);
  if (answer && answer->refusal)
    TM_CHECK(!hadoop::to_error(*answer->refusal).message.empty(), "an error says something");
  check(hadoop::decode_get_service_status(bytes));
  check(hadoop::parse_node_id(bytes));
  const auto queue = hadoop::decode_get_queue_info(bytes);
  check(queue);
  if (queue)
    TM_CHECK(queue->waiting.memory_mib >= 0 && queue->waiting.vcores >= 0, "nothing waits for less than nothing");
  const auto application = hadoop::decode_get_application_report(bytes);
  check(application);
  if (application) TM_CHECK(application->tags.size() <= hadoop::kApplicationTagsMax, "bounded");
  check(hadoop::parse_application_id(bytes));
  check(hadoop::decode_get_container_report(bytes));
  check(hadoop::parse_container_id(bytes));
  const auto reports = hadoop::decode_get_cluster_nodes(bytes);
  check(reports);
  if (reports) {
    for (const auto& node : reports->nodes) {
      TM_CHECK(!node.id.host.empty() && node.labels.size() <= hadoop::kLabelsMax, "named and bounded");
      TM_CHECK(node.capability.others.size() <= hadoop::kResourceTypesMax, "bounded");
      TM_CHECK(!hadoop::to_string(node.state).empty(), "of a known state");
    }
  }
  TM_CHECK(frames(bytes, 1) == frames(bytes, size + 1), "frames are the same in any pieces");
  return 0;
}

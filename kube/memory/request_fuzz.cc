// What a client can send besides an object: selectors, query and continue token, both patches, a definition's schema
// with its patterns, texts of a format. Any bytes end in an answer or a refusal; what was made can be written and read.
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "kube/builtin_types.h"
#include "kube/memory/formats.h"
#include "kube/memory/json_patch.h"
#include "kube/memory/kinds.h"
#include "kube/memory/merge_patch.h"
#include "kube/memory/request.h"
#include "kube/memory/schema.h"
#include "kube/memory/selector.h"
#include "kube/strategic_merge_patch.h"

namespace tidemark::kube::memory {
namespace {

constexpr std::array<std::string_view, 12> kFormats = {"byte",     "cidr", "date", "date-time", "duration", "email",
                                                       "hostname", "ipv4", "ipv6", "mac",       "uri",      "uuid"};

void must_read_again(const Json& tree) {
  const std::string text = tree.dump();
  if (text.size() < 1'000'000 && !Json::parse(text)) std::abort();
}

void query(std::string_view text) {
  static const std::vector<Kind> kinds = builtin_kinds();
  const auto target = net::parse_target(base::cat("/api/v1/namespaces/n/pods?", text));
  if (!target) return;
  const auto path = parse_resource_path(target->path);
  static_cast<void>(check_query(*target));
  static_cast<void>(parse_write_request(*target, "PatchOptions"));
  static_cast<void>(parse_delete_request(*target, Json()));
  for (const Kind& kind : kinds)
    if (kind.name == "Pod")
      if (const auto request = parse_list_request(kind, *path, *target); request && request->continued)
        if (request->start_key.empty()) std::abort();
  const auto free = net::parse_target(text);
  if (free) static_cast<void>(parse_resource_path(free->path));
}

void selectors(std::string_view text) {
  const LabelList labels = {{"a", "b"}, {"n", "5"}};
  if (const auto parsed = LabelSelector::parse(text)) static_cast<void>(parsed->matches(labels));
  static_cast<void>(parse_field_selector(text));
  if (const auto tree = Json::parse(text))
    if (const auto parsed = LabelSelector::from_json(&*tree)) static_cast<void>(parsed->matches(labels));
}

void patches(std::string_view object, std::string_view patch) {
  const auto target = Json::parse(object);
  const auto change = Json::parse(patch);
  if (!target || !change) return;
  if (Json tree = *target; apply_json_patch(tree, *change)) must_read_again(tree);
  if (!target->is_object() || !change->is_object()) return;
  Json merged = *target;
  apply_merge_patch(merged, *change);
  must_read_again(merged);
  if (Json tree = *target; apply_strategic_merge_patch(tree, *change, builtin_types().find("Pod")))
    must_read_again(tree);
}

void schemas(std::string_view schema, std::string_view object) {
  const auto definition = Json::parse(schema);
  if (!definition) return;
  std::vector<Cause> causes;
  const auto compiled = Schema::compile(*definition, "spec", causes);
  if ((compiled == nullptr) != !causes.empty()) std::abort();
  auto tree = Json::parse(object);
  if (compiled == nullptr || !tree) return;
  std::vector<std::string> unknown;
  compiled->prune(*tree, unknown);
  compiled->apply_defaults(*tree);
  compiled->validate(*tree, causes);
  must_read_again(*tree);
}

}  // namespace
}  // namespace tidemark::kube::memory

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tidemark::kube::memory;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view first = rest.substr(0, rest.find('\n'));
  const std::string_view second = first.size() < rest.size() ? rest.substr(first.size() + 1) : std::string_view();
  switch (data[0] % 5) {
    case 0:
      query(rest);
      break;
    case 1:
      selectors(rest);
      break;
    case 2:
      patches(first, second);
      break;
    case 3:
      schemas(first, second);
      break;
    default:
      for (const std::string_view format : kFormats) fits_format(format, rest);
  }
  return 0;
}

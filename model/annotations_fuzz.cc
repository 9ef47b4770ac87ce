// Any annotation text is parsed or rejected with a reason, and parsed values are within their bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/annotations.h"
#include "model/yarn_reclaim.h"

namespace {

template <class T>
void check(const tidemark::Result<T>& read) {
  TM_CHECK(read.has_value() || !read.error().message.empty(), "a refusal says what is wrong");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace model = tidemark::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(model::parse_reservation(text));
  check(model::parse_third_party_allocations(text));
  check(model::parse_cpu_basic_info(text));
  const auto placed = model::parse_numa_nodes(text);
  check(placed);
  if (placed) TM_CHECK(placed->size() <= size, "no more places than the text has characters");
  const auto origin = model::parse_origin(text);
  check(origin);
  if (origin) TM_CHECK(model::parse_origin(model::format_origin(*origin)).has_value(), "what we write we can read");
  const auto book = model::parse_yarn_book(text);
  check(book);
  if (book) TM_CHECK(model::parse_yarn_book(model::format_yarn_book(*book)).has_value(), "what we write we can read");
  const auto offer = model::parse_yarn_offer(text);
  check(offer);
  if (offer)
    TM_CHECK(model::parse_yarn_offer(model::format_yarn_offer(*offer)).has_value(), "what we write we can read");
  const auto take = model::parse_reclaim_request(text);
  check(take);
  if (take)
    TM_CHECK(model::parse_reclaim_request(model::format_reclaim_request(*take)) == *take, "what we write we can read");
  const auto taken = model::parse_reclaim_answer(text);
  check(taken);
  if (taken)
    TM_CHECK(model::parse_reclaim_answer(model::format_reclaim_answer(*taken)) == *taken, "what we write we can read");
  const auto cpus = model::count_cpus(text);
  check(cpus);
  if (cpus) TM_CHECK(*cpus >= 0 && *cpus <= model::kCpuListMax, "a machine has no more");
  return 0;
}

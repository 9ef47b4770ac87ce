// Our side of the kube bench; bench/peer/kube/main.go is client-go's, with the same commands:
//
//   kube_bench decode FILE ROUNDS   a PodList from its bytes in memory to kube::Pod structs; the time of each round
//   kube_bench kept FILE OUT        what is kept of every pod in FILE (kept.h)
//   kube_bench cache KUBECONFIG     an informer, steered by standard input (cache_command.h)
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/text.h"
#include "cache_command.h"
#include "kept.h"
#include "kube/config.h"
#include "kube/decode.h"
#include "kube/intern.h"
#include "kube/objects.h"

namespace {

using namespace tidemark;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 30;

int failed(const Error& error) {
  std::fputs(base::cat("kube_bench: ", error.message, "\n").c_str(), stderr);
  return 1;
}

// What an informer does with a page: split, decode, keep.
Result<std::vector<kube::Pod>> decode_pods(std::string_view bytes, const kube::PodFields& fields,
                                           kube::Interner& interner) {
  std::vector<kube::Pod> pods;
  auto walked = kube::decode_list(bytes, [&](std::string_view item) -> Result<void> {
    TM_TRY(auto pod, kube::decode_pod(item, fields, interner));
    pods.push_back(std::move(pod));
    return {};
  });
  if (!walked) return std::unexpected(std::move(walked).error());
  return pods;
}

int run_decode(const std::string& path, std::int64_t rounds) {
  auto bytes = kube::system_files().read(path, kFileBytesMax);
  if (!bytes) return failed(bytes.error());
  const kube::PodFields fields = bench::kept_fields();
  std::size_t count = 0;
  std::vector<std::string> times;
  for (std::int64_t round = 0; round < rounds; ++round) {
    kube::Interner interner;
    const auto begin = std::chrono::steady_clock::now();
    const auto pods = decode_pods(*bytes, fields, interner);
    const auto took = std::chrono::steady_clock::now() - begin;
    if (!pods) return failed(pods.error());
    count = pods->size();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    times.push_back(base::cat(static_cast<double>(us) / 1000));
  }
  const std::string line =
      base::cat("{\"pods\":", count, ",\"bytes\":", bytes->size(), ",\"ms\":[", base::join(times, ","), "]}\n");
  std::fputs(line.c_str(), stdout);
  return 0;
}

int run_kept(const std::string& path, const std::string& out) {
  auto bytes = kube::system_files().read(path, kFileBytesMax);
  if (!bytes) return failed(bytes.error());
  kube::Interner interner;
  const auto pods = decode_pods(*bytes, bench::kept_fields(), interner);
  if (!pods) return failed(pods.error());
  std::vector<std::string> lines;
  for (const auto& pod : *pods) lines.push_back(bench::kept_line(pod));
  if (auto written = bench::write_kept(out, std::move(lines)); !written) return failed(written.error());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "decode") {
    const auto rounds = base::parse_int(words[2]);
    if (rounds && *rounds > 0) return run_decode(words[1], *rounds);
  }
  if (words.size() == 3 && words[0] == "kept") return run_kept(words[1], words[2]);
  if (words.size() == 2 && words[0] == "cache") return bench::run_cache(words[1]);
  std::fputs("usage: kube_bench decode FILE ROUNDS | kube_bench kept FILE OUT | kube_bench cache KUBECONFIG\n", stderr);
  return 2;
}

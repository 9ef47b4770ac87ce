#include "cli/local/run_object.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/text.h"
#include "model/names.h"
#include "model/quantity.h"
#include "model/resources.h"

namespace tidemark::cli {
namespace {

using base::cat;
using model::PriorityClass;

constexpr std::size_t kNameMax = 63;      // of a DNS label, and of a label's value
constexpr std::size_t kNameStemMax = 40;  // of a name that is made
constexpr std::size_t kSuffix = 6;
constexpr std::string_view kImage = "local";  // nothing is pulled: the field must not be empty

struct Amounts {
  model::CpuMilli cpu;
  model::MemoryBytes memory;
};

Result<model::Quantity> amount(std::string_view flag, std::string_view text, std::string_view such_as) {
  const auto read = model::Quantity::parse(text);
  if (!read || read->sign() <= 0) {
    return fail(ErrorKind::kInvalid, flag, ": wanted an amount such as ", such_as, ", found ", base::in_quotes(text));
  }
  return *read;
}

Result<Amounts> amounts_of(const RunOptions& options) {
  TM_TRY(const auto cpu, amount("--cpu", options.cpu, "2 or 500m"));
  TM_TRY(const auto memory, amount("--memory", options.memory, "4Gi or 512Mi"));
  // "2" of memory is two bytes: surely a mistake.
  constexpr std::int64_t kMemoryMin = std::int64_t{1} << 20;
  const Amounts out{model::cpu_milli(cpu), model::memory_bytes(memory)};
  if (out.memory.value < kMemoryMin) {
    return fail(ErrorKind::kInvalid, "--memory: ", base::in_quotes(options.memory),
                " is less than 1Mi; it is counted in bytes: 4Gi, 512Mi");
  }
  return out;
}

// As it is written: $(NAME) and $$ mean something in commands and values of a pod, and are kept from it.
std::string as_written(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool means = text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '$');
    out.append(means ? 2 : 1, text[i]);
  }
  return out;
}

Result<Json> environment_of(const RunOptions& options) {
  std::vector<std::pair<std::string, std::string>> all{{"PATH", options.path}, {"HOME", options.home}};
  std::erase_if(all, [](const auto& one) { return one.second.empty(); });
  for (const std::string& each : options.environment) {
    const auto equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::kInvalid, "--env: wanted NAME=VALUE, found ", base::in_quotes(each));
    }
    std::string name = each.substr(0, equals);
    std::erase_if(all, [&](const auto& one) { return one.first == name; });
    all.emplace_back(std::move(name), each.substr(equals + 1));
  }
  Json out = Json::array();
  for (const auto& [name, value] : all) {
    if (!base::valid_utf8(name) || !base::valid_utf8(value)) {
      return fail(ErrorKind::kInvalid, "--env ", base::in_quotes(name), ": wanted UTF-8");
    }
    out.as_array().push_back(Json::object({{"name", name}, {"value", as_written(value)}}));
  }
  return out;
}

// As the class is paid: its names of cpu and memory, as texts.
Json requests_of(const RunOptions& options, const Amounts& amounts) {
  const Json milli(cat(amounts.cpu.value)), bytes(cat(amounts.memory.value));
  switch (options.work_class) {
    case PriorityClass::kBatch:
      return Json::object({{model::kBatchCpu, milli}, {model::kBatchMemory, bytes}});
    case PriorityClass::kMid:
      return Json::object({{model::kMidCpu, milli}, {model::kMidMemory, bytes}});
    case PriorityClass::kFree:
      return Json::object();
    case PriorityClass::kProd:
    case PriorityClass::kNone:
      break;
  }
  return Json::object({{"cpu", cat(amounts.cpu.value, "m")}, {"memory", bytes}});
}

Json limits_of(const RunOptions& options, const Amounts& amounts) {
  if (options.online()) return Json::object({{"memory", cat(amounts.memory.value)}});
  return requests_of(options, amounts);
}

Result<Json> pod_spec(const RunOptions& options) {
  Amounts amounts;
  if (options.work_class == PriorityClass::kFree) {
    if (options.says_amounts) {
      return fail(ErrorKind::kInvalid,
                  "--class free asks for nothing, and gets what others leave: without --cpu and --memory");
    }
  } else {
    TM_TRY(amounts, amounts_of(options));
  }
  TM_TRY(Json environment, environment_of(options));
  if (!options.dir.starts_with('/')) {
    return fail(ErrorKind::kInvalid, "--dir: wanted a whole path, found ", base::in_quotes(options.dir));
  }
  Json command = Json::array();
  for (const std::string& word : options.command) {
    if (!base::valid_utf8(word))
      return fail(ErrorKind::kInvalid, "the command: wanted UTF-8, found ", base::in_quotes(word));
    command.as_array().push_back(as_written(word));
  }
  Json container = Json::object({{"name", kLocalContainer},
                                 {"image", kImage},
                                 {"command", std::move(command)},
                                 {"workingDir", options.dir},
                                 {"env", std::move(environment)}});
  if (options.work_class != PriorityClass::kFree) {
    container["resources"] =
        Json::object({{"requests", requests_of(options, amounts)}, {"limits", limits_of(options, amounts)}});
  }
  return Json::object({{"restartPolicy", options.online() ? "Always" : "Never"},
                       {"priorityClassName", model::to_string(options.work_class)},
                       {"containers", Json::array({std::move(container)})}});
}

}  // namespace

std::string name_for(const std::vector<std::string>& command, base::Random& random) {
  TM_CHECK(!command.empty(), "a command has a name");
  const std::string& program = command.front();
  std::string stem;
  for (const char c : base::lower(program.substr(program.rfind('/') + 1))) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (fits) {
      stem += c;
    } else if (!stem.empty() && stem.back() != '-') {
      stem += '-';
    }
    if (stem.size() == kNameStemMax) break;
  }
  while (!stem.empty() && stem.back() == '-') stem.pop_back();
  if (stem.empty()) stem = "run";
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";  // no vowels: no words
  stem += '-';
  for (std::size_t i = 0; i < kSuffix; ++i) stem += kLetters[random.below(kLetters.size())];
  return stem;
}

std::string wrong_name(std::string_view name) {
  const auto small = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool letters = std::ranges::all_of(name, [&](char c) { return small(c) || c == '-'; });
  if (!name.empty() && name.size() <= kNameMax && letters && small(name.front()) && small(name.back())) return "";
  return cat("a name has 1 to ", kNameMax, " small letters, digits and dashes, with none of these at its ends; found ",
             base::in_quotes(name));
}

Result<RunObject> run_object(const RunOptions& options) {
  if (options.command.empty()) return fail(ErrorKind::kInvalid, "command is missing; it follows --");
  if (const auto wrong = wrong_name(options.name); !wrong.empty()) return fail(ErrorKind::kInvalid, "--name: ", wrong);
  TM_TRY(Json spec, pod_spec(options));
  const Json labels = Json::object({{model::kQosClassLabel, options.online() ? "LS" : "BE"}});
  Json meta = Json::object({{"name", options.name}, {"namespace", options.ns}});
  if (options.online()) {
    meta["labels"] = labels;
    const Json pod =
        Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(meta)}, {"spec", std::move(spec)}});
    return RunObject{kube::kPods, pod.dump()};
  }
  // An eviction is no failure of the job.
  const Json ignore = Json::object(
      {{"action", "Ignore"},
       {"onPodConditions", Json::array({Json::object({{"type", "DisruptionTarget"}, {"status", "True"}})})}});
  const Json job =
      Json::object({{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", std::move(meta)},
                    {"spec", Json::object({{"parallelism", 1},
                                           {"completions", 1},
                                           {"backoffLimit", options.retries},
                                           {"ttlSecondsAfterFinished", kEndedJobKept_s},
                                           {"podFailurePolicy", Json::object({{"rules", Json::array({ignore})}})},
                                           {"template", Json::object({{"metadata", Json::object({{"labels", labels}})},
                                                                      {"spec", std::move(spec)}})}})}});
  return RunObject{kube::kJobs, job.dump()};
}

}  // namespace tidemark::cli

#include "gateway/record.h"

#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using namespace policy::route;

Json time_json(base::WallTime time) {
  return Json(static_cast<std::int64_t>(time.since_epoch.count()));
}

base::WallTime time_of(const Json* json) {
  return {base::Duration(json == nullptr ? 0 : json->get_int().value_or(0))};
}

Json attempt_json(const Attempt& attempt) {
  Json out = Json::object({{"side", name_of(attempt.side)},
                           {"reason", name_of(attempt.reason)},
                           {"handle", attempt.handle},
                           {"stop", name_of(attempt.stop)}});
  if (!attempt.rule.empty()) out["rule"] = Json(attempt.rule);
  if (!attempt.inputs.empty()) out["inputs"] = Json(attempt.inputs);
  if (attempt.way != Way::kNative) {
    out["way"] = Json(name_of(attempt.way));
    out["wayReason"] = Json(attempt.way_reason);
  }
  if (attempt.end) {
    out["end"] = Json(name_of(attempt.end->end_class));
    if (attempt.end->exit_code) out["exitCode"] = Json(*attempt.end->exit_code);
    if (attempt.end->never_started) out["neverStarted"] = Json(true);
  }
  if (attempt.absent_since) out["absentSince"] = time_json(*attempt.absent_since);
  if (attempt.unknown_since) out["unknownSince"] = time_json(*attempt.unknown_since);
  if (attempt.accepted) out["accepted"] = time_json(*attempt.accepted);
  if (attempt.running_since) out["runningSince"] = time_json(*attempt.running_since);
  if (attempt.ended) out["ended"] = time_json(*attempt.ended);
  return out;
}

Result<Attempt> attempt_of(const Json& json) {
  const auto side = side_of(json.text_at("side"));
  const auto reason = route_reason_of(json.text_at("reason"));
  const auto stop = stop_reason_of(json.text_at("stop"));
  if (!side || !reason || !stop) return fail(ErrorKind::kInvalid, "a stored attempt with unknown words");
  Attempt attempt;
  attempt.side = *side;
  attempt.reason = *reason;
  attempt.stop = *stop;
  attempt.handle = json.text_at("handle");
  attempt.rule = json.text_at("rule");
  attempt.inputs = json.text_at("inputs");
  if (json.at("way") != nullptr) {
    const auto way = way_of(json.text_at("way"));
    if (!way) return fail(ErrorKind::kInvalid, "a stored attempt with an unknown way");
    attempt.way = *way;
    attempt.way_reason = json.text_at("wayReason");
  }
  if (json.at("end") != nullptr) {
    const auto end = end_class_of(json.text_at("end"));
    if (!end) return fail(ErrorKind::kInvalid, "a stored attempt with an unknown end");
    attempt.end = End{.end_class = *end};
    attempt.end->never_started = json.at("neverStarted") != nullptr;
    if (const Json* code = json.at("exitCode")) attempt.end->exit_code = code->get_int();
  }
  if (const Json* absent = json.at("absentSince")) attempt.absent_since = time_of(absent);
  if (const Json* unknown = json.at("unknownSince")) attempt.unknown_since = time_of(unknown);
  if (const Json* accepted = json.at("accepted")) attempt.accepted = time_of(accepted);
  if (const Json* running = json.at("runningSince")) attempt.running_since = time_of(running);
  if (const Json* ended = json.at("ended")) attempt.ended = time_of(ended);
  return attempt;
}

}  // namespace

std::string hash_of(const SparkJob& job) {
  return base::TextHash().add(to_json(job).dump()).hex();
}

RunState state_of(const Run& run) {
  switch (run.phase) {
    case Phase::kReceived:
    case Phase::kQueued:
    case Phase::kRouted:
    case Phase::kReserved:
    case Phase::kSubmitted:
    case Phase::kAdmitted:
      return RunState::kWaiting;
    case Phase::kRunning:
    case Phase::kEnding:
      return RunState::kRunning;
    case Phase::kCancelled:
      return RunState::kKilled;
    case Phase::kDone:
      break;
  }
  const auto end = result_of(run);
  if (end && end->end_class == EndClass::kSucceeded) return RunState::kSucceeded;
  return end && end->end_class == EndClass::kKilled ? RunState::kKilled : RunState::kFailed;
}

SparkJob job_of_attempt(const Record& record) {
  SparkJob job = record.job;
  if (record.run.attempts.size() > 1) {
    job.conf.try_emplace("spark.hadoop.mapreduce.job.application.attempt.id", base::cat(record.run.attempts.size()));
  }
  return job;
}

std::string encode_run(const Run& run, std::string_view message) {
  Json::Array attempts;
  for (const Attempt& attempt : run.attempts) attempts.push_back(attempt_json(attempt));
  return Json::object({{"schema", kRecordSchema},
                       {"phase", name_of(run.phase)},
                       {"since", time_json(run.since)},
                       {"cancel", run.cancel},
                       {"attempts", Json(std::move(attempts))},
                       {"message", message}})
      .dump();
}

Result<DecodedRun> decode_run(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* schema = json.at("schema");
  const std::int64_t version = schema == nullptr ? 0 : schema->get_int().value_or(0);
  if (version != kRecordSchema) {
    return fail(ErrorKind::kUnsupported, "a stored run has schema ", version, ", and this program reads ",
                kRecordSchema);
  }
  const auto phase = phase_of(json.text_at("phase"));
  if (!phase) return fail(ErrorKind::kInvalid, "a stored run with unknown phase ", json.text_at("phase"));
  DecodedRun out;
  out.run.phase = *phase;
  out.run.since = time_of(json.at("since"));
  if (const Json* cancel = json.at("cancel")) out.run.cancel = cancel->get_bool().value_or(false);
  if (const Json* attempts = json.at("attempts"); attempts != nullptr && attempts->is_array()) {
    for (const Json& each : attempts->as_array()) {
      TM_TRY(Attempt attempt, attempt_of(each));
      out.run.attempts.push_back(std::move(attempt));
    }
  }
  if (out.run.attempts.empty() && *phase >= Phase::kRouted && *phase != Phase::kCancelled) {
    return fail(ErrorKind::kInvalid, "a stored run without an attempt in phase ", name_of(*phase));
  }
  out.message = json.text_at("message");
  return out;
}

}  // namespace tidemark::gateway

#include "hadoop/application_submission.h"

#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "hadoop/applications.h"
#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

constexpr std::int64_t kOneAttempt = 1;  // the caller owns the attempts

std::string_view without_link(const std::string& url) {
  return std::string_view(url).substr(0, url.find('#'));
}

Json files_json(const std::vector<LocalResource>& files) {
  Json entries = Json::array();
  for (const LocalResource& each : files) {
    entries.as_array().push_back(Json::object({{"key", each.link},
                                               {"value", Json::object({{"resource", without_link(each.url)},
                                                                       {"type", each.archive ? "ARCHIVE" : "FILE"},
                                                                       {"visibility", "PRIVATE"},
                                                                       {"size", each.bytes},
                                                                       {"timestamp", each.modified_ms}})}}));
  }
  return Json::object({{"entry", std::move(entries)}});
}

struct FilePlace {
  std::string_view scheme, host;
  std::int64_t port = -1;  // -1: a name of dfs.nameservices
  std::string_view path;
};

Result<FilePlace> place_of(const std::string& url) {
  const std::string_view text = without_link(url);
  const auto colon = text.find("://");
  const auto slash = colon == std::string_view::npos ? colon : text.find('/', colon + 3);
  if (slash == std::string_view::npos) {
    return fail(ErrorKind::kInvalid, base::in_quotes(url), ": hdfs://HOST:PORT/PATH is expected");
  }
  FilePlace out;
  out.scheme = text.substr(0, colon);
  out.host = text.substr(colon + 3, slash - colon - 3);
  out.path = text.substr(slash);
  if (const auto at = out.host.rfind(':'); at != std::string_view::npos) {
    const auto port = base::parse_int(out.host.substr(at + 1));
    if (!port) return fail(ErrorKind::kInvalid, base::in_quotes(url), ": the port is no number");
    out.port = *port;
    out.host = out.host.substr(0, at);
  }
  return out;
}

// StringLocalResourceMapProto
Result<std::string> encode_file(const LocalResource& file) {
  constexpr std::int64_t kArchive = 1, kFile = 2, kPrivate = 2;
  TM_TRY(const FilePlace place, place_of(file.url));
  std::string out;
  WireWriter(out).bytes(1, file.link).message(2, [&](WireWriter& resource) {
    resource.message(1, [&](WireWriter& url) {
      url.bytes(1, place.scheme).bytes(2, place.host).number(3, place.port).bytes(4, place.path);
    });
    resource.number(2, file.bytes).number(3, file.modified_ms);
    resource.number(4, file.archive ? kArchive : kFile).number(5, kPrivate);
  });
  return out;
}

// ContainerLaunchContextProto
Result<std::string> encode_master(const MasterContainer& master) {
  std::string out;
  WireWriter writer(out);
  for (const LocalResource& each : master.files) {
    TM_TRY(const std::string file, encode_file(each));
    writer.bytes(1, file);
  }
  if (!master.tokens.empty()) writer.bytes(2, master.tokens);
  for (const auto& [name, value] : master.environment) {
    writer.message(4, [&](WireWriter& entry) { entry.bytes(1, name).bytes(2, value); });
  }
  writer.bytes(5, master.command);
  return out;
}

}  // namespace

std::string submission_json(const ApplicationSubmission& submission) {
  Json tags = Json::array();
  for (const auto& tag : submission.tags) tags.as_array().emplace_back(tag);
  Json environment = Json::array();
  for (const auto& [name, value] : submission.master.environment) {
    environment.as_array().push_back(Json::object({{"key", name}, {"value", value}}));
  }
  return Json::object({{"application-id", submission.id},
                       {"application-name", submission.name},
                       {"application-type", submission.type},
                       {"queue", submission.queue},
                       {"priority", submission.priority},
                       {"max-app-attempts", kOneAttempt},
                       {"application-tags", Json::object({{"tag", std::move(tags)}})},
                       {"resource", Json::object({{"memory", submission.memory_mib}, {"vCores", submission.cores}})},
                       {"am-container-spec",
                        Json::object({{"local-resources", files_json(submission.master.files)},
                                      {"commands", Json::object({{"command", submission.master.command}})},
                                      {"environment", Json::object({{"entry", std::move(environment)}})}})}})
      .dump();
}

Result<std::string> encode_submit_application(const ApplicationSubmission& submission) {
  TM_TRY(const ApplicationId id, parse_application_id(submission.id));
  TM_TRY(const std::string master, encode_master(submission.master));
  std::string out;
  WireWriter(out).message(1, [&](WireWriter& context) {
    context.message(1, [&](WireWriter& inner) { inner.number(1, id.number).number(2, id.cluster_start_ms); });
    context.bytes(2, submission.name).bytes(3, submission.queue);
    context.message(4, [&](WireWriter& inner) { inner.number(1, submission.priority); });
    context.bytes(5, master).number(8, kOneAttempt);
    context.message(9, [&](WireWriter& inner) { inner.number(1, submission.memory_mib).number(2, submission.cores); });
    context.bytes(10, submission.type);
    for (const auto& tag : submission.tags) context.bytes(12, tag);
  });
  return out;
}

}  // namespace tidemark::hadoop

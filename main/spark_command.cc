// `tidemark spark`: submits Spark jobs to the gateway, and shows and cancels their runs. Under the name
// tidemark-spark-submit it takes the command line of spark-submit.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/spark/comparison.h"
#include "cli/spark/submit_words.h"
#include "kube/config.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "net/http_client.h"
#include "net/seal.h"
#include "net/worker.h"

namespace tidemark::main {
namespace {

constexpr std::string_view kGateway = "http://127.0.0.1:8998";
constexpr std::string_view kGatewayVariable = "TIDEMARK_GATEWAY";
constexpr std::string_view kTokenVariable = "TIDEMARK_TOKEN_FILE";
constexpr std::string_view kAuthorityVariable = "TIDEMARK_CA_FILE";
constexpr std::size_t kTokenBytesMax = 64 * 1024;
constexpr base::Duration kAnswerLimit = std::chrono::seconds(30);
constexpr base::Duration kPollInterval = std::chrono::seconds(1);
constexpr std::size_t kNamesToResolveMax = 16;
constexpr std::size_t kPropertiesMax = 4 * 1024 * 1024;
constexpr std::size_t kPieceBytes = 4 * 1024 * 1024;  // of a file that is uploaded

constexpr std::string_view kSubmitHelp =
    "Usage: tidemark spark submit [flags] FILE [ARGS...]\n\n"
    "Runs a Spark job through the gateway and waits for its end. The flags are those of spark-submit; the environment\n"
    "variable TIDEMARK_GATEWAY is the URL of the gateway (default http://127.0.0.1:8998), TIDEMARK_TOKEN_FILE a file\n"
    "with a token for it, and TIDEMARK_CA_FILE the authority of its certificate.\n\n"
    "Spark:\n"
    "  --class CLASS              main class of a jar\n"
    "  --name NAME                name of the job\n"
    "  -c, --conf KEY=VALUE       Spark property; may be repeated\n"
    "  --properties-file FILE     file of Spark properties\n"
    "  --master URL               yarn or k8s://…; the gateway chooses the side\n"
    "  --deploy-mode MODE         cluster, the only mode\n"
    "  --queue NAME               queue on YARN\n"
    "  --jars LIST                further jars\n"
    "  --files LIST               files for the working directory\n"
    "  --py-files LIST            Python modules\n"
    "  --driver-memory SIZE       memory of the driver\n"
    "  --executor-memory SIZE     memory of an executor\n"
    "  --num-executors N          executors\n"
    "  -h, --help                 this text\n";

struct GatewayAddress {
  std::string url = std::string(kGateway);
  std::string token_file;
  std::string ca_file;
};

// The gateway over HTTP, for one command.
class Gateway {
 public:
  explicit Gateway(GatewayAddress address)
      : loop_(clock_), workers_(1, kNamesToResolveMax), address_(std::move(address)), url_(address_.url) {}

  Result<Json> ask(std::string method, std::string path, std::string body = "") {
    TM_TRY(const auto url, net::parse_url(url_));
    if (!client_) {
      net::HttpClientConfig config;
      config.url = url;
      config.user_agent = "tidemark-spark/" TIDEMARK_VERSION;
      config.tls.ca.file = address_.ca_file;
      client_ = std::make_unique<net::HttpClient>(loop_, &workers_, std::move(config));
    }
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(path);
    request.headers.add("content-type", "application/json");
    request.headers.add("x-requested-by", "tidemark");
    if (!address_.token_file.empty()) {
      TM_TRY(const std::string token, kube::system_files().read(address_.token_file, kTokenBytesMax));
      request.headers.add("authorization", base::cat("Bearer ", base::trim(token)));
    }
    request.body = std::move(body);
    std::optional<Result<net::HttpResponse>> answer;
    run([&]() -> net::Task<void> { answer.emplace(co_await client_->fetch(std::move(request), kAnswerLimit)); });
    if (!*answer) return fail((*answer).error().within(url_));
    if ((*answer)->status < 400 && !(*answer)->headers.get("content-type").starts_with("application/json")) {
      return Json((*answer)->body);  // the log of an executor
    }
    auto json = Json::parse((*answer)->body);
    if (!json) return fail(std::move(json).error().within(url_));
    if ((*answer)->status >= 400) {
      return fail(Error{(*answer)->status == 404 ? ErrorKind::kNotFound : ErrorKind::kInvalid,
                        std::string(json->text_at("msg")), (*answer)->status, 0});
    }
    return *std::move(json);
  }
  std::int64_t now_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall().since_epoch).count();
  }
  void wait(base::Duration time) {
    run([&]() -> net::Task<void> { co_await loop_.sleep(time); });
  }

 private:
  void run(const std::function<net::Task<void>()>& work) {
    net::Scope scope(loop_);
    scope.spawn([](net::EventLoop& loop, const std::function<net::Task<void>()>& inner) -> net::Task<void> {
      co_await inner();
      loop.stop();
    }(loop_, work));
    loop_.run();
  }

  base::SystemClock clock_;
  net::EventLoop loop_;
  net::WorkerPool workers_;
  const GatewayAddress address_;
  const std::string url_;
  std::unique_ptr<net::HttpClient> client_;
};

void declare_address_flags(base::Flags& flags, GatewayAddress& address) {
  flags.text("gateway", address.url, "URL of the gateway").placeholder("URL");
  flags.text("token-file", address.token_file, "file with a token for the gateway").placeholder("FILE");
  flags.text("ca-file", address.ca_file, "authority of the gateway's certificate (default the system's)")
      .placeholder("FILE");
}

GatewayAddress gateway_of_environment() {
  const auto variable = [](std::string_view name) { return environment_or_empty(std::string(name).c_str()); };
  GatewayAddress out;
  if (std::string url = variable(kGatewayVariable); !url.empty()) out.url = std::move(url);
  out.token_file = variable(kTokenVariable);
  out.ca_file = variable(kAuthorityVariable);
  return out;
}

bool has_ended(std::string_view state) {
  return state == "success" || state == "dead" || state == "killed";
}

// What clients of spark-submit look for: ids of this run only, each once.
void print_ids(const Json& batch, std::set<std::string>& shown) {
  const Json* attempts = batch.at("attempts");
  if (attempts == nullptr || !attempts->is_array()) return;
  for (const Json& attempt : attempts->as_array()) {
    const std::string handle(attempt.text_at("handle"));
    if (handle.empty() || !shown.insert(handle).second) continue;
    if (attempt.text_at("side") == "yarn") {
      print(base::cat("Submitted application ", handle, "\n"));
    } else {
      print(base::cat("\t pod name: ", handle, "\n\t labels: spark-app-selector -> ", batch.text_at("appId"),
                      ", spark-role -> driver\n"));
    }
  }
}

// `waits`: until the end, else until the driver has its id.
int follow(Gateway& gateway, std::int64_t id, bool waits) {
  std::set<std::string> shown;
  std::string state;
  while (true) {
    const auto batch = gateway.ask("GET", base::cat("/batches/", id));
    if (batch) {
      print_ids(*batch, shown);
      if (batch->text_at("state") != state) {
        state = batch->text_at("state");
        print(base::cat("run ", id, " (state: ", state, ")\n"));
      }
      if (!waits && !shown.empty()) return kDone;
      if (has_ended(state)) {
        const int code = state == "success" ? kDone : kFailed;
        print(base::cat("\t exit code: ", code, "\n"));
        return code;
      }
    } else if (batch.error().kind == ErrorKind::kNotFound) {
      return failed(batch.error());
    }
    // Otherwise the gateway is away for a moment; the run goes on without it.
    gateway.wait(kPollInterval);
  }
}

// Sends a short file of our own.
Result<std::string> upload_bytes(Gateway& gateway, std::string_view name, std::string_view bytes) {
  const std::string target =
      base::cat("/tidemark/v1/files/", net::Sha256().add(bytes).hex(), "/", name, "?bytes=", bytes.size());
  TM_TRY(const Json answer, gateway.ask("PUT", target, std::string(bytes)));
  return std::string(answer.text_at("url"));
}

// Sends a file to the gateway in pieces, unless it is there already. The URL for the job.
Result<std::string> upload(Gateway& gateway, const std::string& path) {
  const auto failed_here = [&path] { return fail(ErrorKind::kInvalid, "Error: ", path, ": ", std::strerror(errno)); };
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!fd || fstat(fd.get(), &status) != 0) return failed_here();
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    return fail(ErrorKind::kInvalid, "Error: ", path, ": a file with content is expected");
  }
  std::string piece(kPieceBytes, '\0');
  const auto read_at = [&](std::int64_t from) { return pread(fd.get(), piece.data(), piece.size(), from); };
  net::Sha256 digest;
  for (std::int64_t at = 0; at < status.st_size;) {
    const ssize_t read = read_at(at);
    if (read <= 0) return failed_here();
    digest.add(std::string_view(piece).substr(0, static_cast<std::size_t>(read)));
    at += read;
  }
  const std::string target =
      base::cat("/tidemark/v1/files/", digest.hex(), "/", net::percent_encode(path.substr(path.rfind('/') + 1)),
                "?bytes=", status.st_size);
  auto answer = gateway.ask("GET", target);
  for (std::int64_t at = 0; answer && answer->text_at("url").empty() && at < status.st_size;) {
    const ssize_t read = read_at(at);
    if (read <= 0) return failed_here();
    answer = gateway.ask("PUT", base::cat(target, "&from=", at), piece.substr(0, static_cast<std::size_t>(read)));
    at += read;
  }
  if (!answer) return fail(std::move(answer).error().within(base::cat("Error: cannot upload ", path)));
  if (answer->text_at("url").empty()) return fail(ErrorKind::kInvalid, "Error: ", path, " changed while it was sent");
  return std::string(answer->text_at("url"));
}

int run_submit(const std::vector<std::string>& args) {
  auto words = cli::parse_submit_words(
      args, [](const std::string& path) { return kube::system_files().read(path, kPropertiesMax); });
  if (!words) {
    wrong_use(base::cat(words.error().message, "\n"));
    return kFailed;  // the exit code of spark-submit
  }
  if (words->help) return print(kSubmitHelp);
  if (words->version) return print("tidemark-spark-submit " TIDEMARK_VERSION "\n");
  Gateway gateway(gateway_of_environment());
  const auto uploaded =
      cli::replace_local_files(words->body, [&gateway](const std::string& path) { return upload(gateway, path); });
  if (!uploaded) return failed(uploaded.error());
  const auto batch = gateway.ask("POST", "/batches", words->body.dump());
  if (!batch) return failed(batch.error());
  const Json* id = batch->at("id");
  if (id == nullptr || !id->is_int()) return failed(Error{ErrorKind::kInvalid, "the gateway returned no id"});
  const auto is_false = [&words](std::string_view key) { return words->body.text_at("conf", key) == "false"; };
  const bool waits =
      !is_false("spark.yarn.submit.waitAppCompletion") && !is_false("spark.kubernetes.submission.waitAppCompletion");
  return follow(gateway, id->as_int(), waits);
}

// A command with flags, on one run or on all.
struct RunCommand {
  GatewayAddress gateway;
  AnswerForm form;
  std::string id;
};

std::optional<int> parse_run_command(base::Flags& flags, const std::vector<std::string>& args, bool one,
                                     RunCommand& out) {
  declare_address_flags(flags, out.gateway);
  declare_form_flag(flags, out.form);
  if (one) flags.arguments("ID", 1, 1);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return code;
  if (one) out.id = parsed.arguments[0];
  if (one && !base::parse_int(out.id)) {
    return wrong_use(base::cat("tidemark: invalid run ", base::in_quotes(out.id), "; a number is expected\n"));
  }
  return std::nullopt;
}

std::string side_of(const Json& batch) {
  const Json* attempts = batch.at("attempts");
  if (attempts == nullptr || !attempts->is_array() || attempts->as_array().empty()) return "-";
  return std::string(attempts->as_array().back().text_at("side"));
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text + " ";
}

int run_spark_list(const std::vector<std::string>& args) {
  base::Flags flags("tidemark spark list", "Lists the runs of the gateway.");
  RunCommand command;
  if (auto code = parse_run_command(flags, args, false, command)) return *code;
  const auto page = Gateway(command.gateway).ask("GET", "/batches?size=1000");
  if (!page) return failed(page.error());
  if (command.form.json()) return print(page->dump_pretty() + "\n");
  std::string out = "ID      STATE     SIDE        APPLICATION                             NAME\n";
  for (const Json& batch : page->at("sessions")->as_array()) {
    out += padded(base::cat(batch.at("id")->as_int()), 7) + padded(std::string(batch.text_at("state")), 9) +
           padded(side_of(batch), 11) + padded(std::string(batch.text_at("appId")), 39) +
           std::string(batch.text_at("name")) + "\n";
  }
  return print(out);
}

int show(const Json& batch) {
  std::string out;
  for (const Json& line : batch.at("log")->as_array()) out += base::cat(line.as_string(), "\n");
  return print(out);
}

// Each decision, and what this gateway decides from the same inputs.
int show_replay(const Json& replayed, bool json) {
  std::string out;
  bool all_same = true;
  std::int64_t number = 0;
  for (const Json& each : replayed.at("attempts")->as_array()) {
    const std::string begin = base::cat("attempt ", ++number, ": ");
    if (const auto error = each.text_at("error"); !error.empty()) {
      all_same = false;
      out += base::cat(begin, "cannot be replayed: ", error, "\n");
      continue;
    }
    const bool same = each.at("same")->get_bool().value_or(false);
    all_same = all_same && same;
    out += base::cat(begin, each.text_at("signals"), "\n", begin, each.text_at("before"), "\n", begin,
                     same ? "the same decision again" : base::cat("now another decision: ", each.text_at("now")), "\n");
  }
  const int printed = print(json ? replayed.dump_pretty() + "\n" : out);
  return printed == kDone && all_same ? kDone : kFailed;
}

int run_spark_cancel(const std::vector<std::string>& args) {
  base::Flags flags("tidemark spark cancel", "Stops a run, wherever it is.");
  RunCommand command;
  if (auto code = parse_run_command(flags, args, true, command)) return *code;
  const auto done = Gateway(command.gateway).ask("DELETE", base::cat("/batches/", command.id));
  if (!done) return failed(done.error());
  return print(base::cat("run ", command.id, " is being cancelled\n"));
}

// Prints the log of a run. With `follow` until the run ends; a gateway that is away for a moment is asked again.
int print_log(Gateway& gateway, const std::string& id, bool follow) {
  std::int64_t next = 0;
  while (true) {
    const auto piece = gateway.ask("GET", base::cat("/tidemark/v1/runs/", id, "/log?from=", next));
    if (!piece) {
      if (!follow || piece.error().code != 0) return failed(piece.error());
      gateway.wait(kPollInterval);
      continue;
    }
    if (const Json* end = piece->at("next")) next = end->get_int().value_or(next);
    const std::string_view text = piece->text_at("text");
    if (!text.empty()) {
      if (const int code = print(text); code != kDone) return code;
      continue;
    }
    const Json* ended = piece->at("ended");
    if (!follow || (ended != nullptr && ended->get_bool().value_or(false))) return kDone;
    gateway.wait(kPollInterval);
  }
}

int run_spark_logs(const std::vector<std::string>& args) {
  base::Flags flags("tidemark spark logs", "Prints the log of a run: its steps, and the output of its drivers.");
  RunCommand command;
  bool follow = false;
  std::string executor;
  flags.boolean("follow", follow, "print what comes, until the run ends").alias("f");
  flags.text("executor", executor, "the log of this executor at Kubernetes instead").placeholder("NUMBER");
  if (auto code = parse_run_command(flags, args, true, command)) return *code;
  Gateway gateway(command.gateway);
  if (executor.empty()) return print_log(gateway, command.id, follow);
  const auto text = gateway.ask(
      "GET", base::cat("/tidemark/v1/runs/", command.id, "/executors/", net::percent_encode(executor), "/log"));
  if (!text) return failed(text.error());
  return print(text->get_string().value_or(""));
}

// The job of a run, or of a file in the form of a Livy batch.
Result<Json> job_to_compare(Gateway& gateway, const std::string& run_or_file) {
  if (base::parse_uint(run_or_file)) {
    return gateway.ask("GET", base::cat("/tidemark/v1/runs/", run_or_file, "/job"));
  }
  TM_TRY(const std::string text, kube::system_files().read(run_or_file, kPropertiesMax));
  auto job = base::parse_yaml(text);
  if (!job) return fail(std::move(job).error().within(run_or_file));
  if (!job->is_object()) return fail(ErrorKind::kInvalid, run_or_file, ": a batch as in the Livy API is expected");
  return job;
}

Result<std::int64_t> post_batch(Gateway& gateway, const Json& body) {
  TM_TRY(const Json batch, gateway.ask("POST", "/batches", body.dump()));
  const Json* id = batch.at("id");
  if (id == nullptr || !id->is_int()) return fail(ErrorKind::kInvalid, "the gateway returned no id");
  return id->as_int();
}

// Waits for the end. The last state, and the log if it is wanted: a log that is read while the driver runs has its last
// lines.
Result<std::string> wait_for_end(Gateway& gateway, std::int64_t id, std::string* log) {
  std::int64_t next = 0;
  while (true) {
    const auto batch = gateway.ask("GET", base::cat("/batches/", id));
    if (!batch && batch.error().code != 0) return fail(batch.error());
    if (log != nullptr) {
      const auto piece = gateway.ask("GET", base::cat("/tidemark/v1/runs/", id, "/log?from=", next));
      if (piece) {
        *log += piece->text_at("text");
        next = piece->at("next") == nullptr ? next : piece->at("next")->get_int().value_or(next);
        if (!piece->text_at("text").empty()) continue;
      }
    }
    if (batch && has_ended(batch->text_at("state"))) return std::string(batch->text_at("state"));
    gateway.wait(kPollInterval);
  }
}

int run_comparison(Gateway& gateway, const std::string& run_or_file) {
  const auto job = job_to_compare(gateway, run_or_file);
  if (!job) return failed(job.error());
  const std::string tag = base::cat(gateway.now_ms());
  auto plan = cli::plan_comparison(*job, tag);
  if (!plan) return failed(plan.error());
  const auto script = upload_bytes(gateway, "compare_rows.py", cli::compare_rows_text());
  if (!script) return failed(script.error());
  const auto kubernetes = post_batch(gateway, plan->kubernetes);
  if (!kubernetes) return failed(kubernetes.error());
  const auto yarn = post_batch(gateway, plan->yarn);
  if (!yarn) return failed(yarn.error());
  print(base::cat("run ", *kubernetes, " on Kubernetes and run ", *yarn, " on YARN write to places of their own\n"));
  for (const auto id : {*kubernetes, *yarn}) {
    const auto state = wait_for_end(gateway, id, nullptr);
    if (!state) return failed(state.error());
    if (*state != "success") return failed(Error{ErrorKind::kInvalid, base::cat("run ", id, " ended as ", *state)});
  }
  plan->compare["file"] = Json(*script);
  const auto compare = post_batch(gateway, plan->compare);
  if (!compare) return failed(compare.error());
  print(base::cat("run ", *compare, " compares what they wrote\n"));
  std::string log;
  const auto state = wait_for_end(gateway, *compare, &log);
  if (!state) return failed(state.error());
  for (const auto line : base::split(log, '\n')) {
    if (!line.starts_with(cli::kComparisonLine)) continue;
    const auto lines = cli::comparison_lines(line.substr(cli::kComparisonLine.size()));
    print(lines ? *lines : base::cat(lines.error().message, "\n"));
  }
  if (*state == "success") return print(base::cat("no difference: ", plan->name, " may run on either side\n"));
  print(base::cat(plan->name, " gets no place at Kubernetes until a comparison finds no difference\n"));
  return kFailed;
}

int run_spark_compare(const std::vector<std::string>& args) {
  base::Flags flags("tidemark spark compare", "Runs a job on both sides, and compares the rows that they write.");
  RunCommand command;
  declare_address_flags(flags, command.gateway);
  flags.arguments("RUN|FILE", 1, 1);
  flags.example("tidemark spark compare 12");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  Gateway gateway(command.gateway);
  return run_comparison(gateway, parsed.arguments[0]);
}

struct SparkCommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);
};
int show_run(std::string_view program, const std::vector<std::string>& args) {
  base::Flags flags(program, "Shows a run: its attempts, their sides, and why.");
  RunCommand command;
  bool replay = false;
  flags.boolean("replay", replay, "decide again from the stored inputs; exit code 1 if a decision differs");
  if (auto code = parse_run_command(flags, args, true, command)) return *code;
  if (replay) {
    const auto replayed = Gateway(command.gateway).ask("GET", base::cat("/tidemark/v1/runs/", command.id, "/replay"));
    if (!replayed) return failed(replayed.error());
    return show_replay(*replayed, command.form.json());
  }
  const auto batch = Gateway(command.gateway).ask("GET", base::cat("/batches/", command.id));
  if (!batch) return failed(batch.error());
  return command.form.json() ? print(batch->dump_pretty() + "\n") : show(*batch);
}

int run_spark_show(const std::vector<std::string>& args) {
  return show_run("tidemark spark show", args);
}

constexpr SparkCommand kSparkCommands[] = {
    {"submit", "run a job with the command line of spark-submit", run_submit},
    {"list", "list runs", run_spark_list},
    {"show", "show a run and why it went where it went", run_spark_show},
    {"logs", "print the log of a run", run_spark_logs},
    {"cancel", "stop a run", run_spark_cancel},
    {"compare", "run a job on both sides and compare its outputs", run_spark_compare},
};
constexpr std::string_view kSparkUsage = "tidemark spark [flags] submit|list|show|logs|cancel|compare";

}  // namespace

int run_explain_run(const std::vector<std::string>& args) {
  return show_run("tidemark explain run", args);
}

int run_spark_submit(const std::vector<std::string>& args) {
  return run_submit(args);
}

int run_spark(const std::vector<std::string>& args) {
  if (args.empty()) return wrong_use(base::cat("tidemark: command is missing\nusage: ", kSparkUsage, "\n"));
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    std::string out = base::cat("Usage: ", kSparkUsage, "\n\nSpark jobs at the gateway.\n\nCommands:\n");
    for (const auto& each : kSparkCommands) {
      out += base::cat("  ", each.name, std::string(9 - each.name.size(), ' '), each.summary, "\n");
    }
    return print(out + "\nFor the flags of a command, run: tidemark spark COMMAND --help.\n");
  }
  std::vector<std::string_view> names;
  for (const auto& each : kSparkCommands) {
    if (each.name == args[0]) return each.run({args.begin() + 1, args.end()});
    names.push_back(each.name);
  }
  const auto meant = base::nearest(args[0], names);
  return wrong_use(base::cat("tidemark: `tidemark spark`: unknown command ", base::in_quotes(args[0]),
                             meant ? base::cat("; did you mean ", *meant, "?") : std::string(),
                             "\nusage: ", kSparkUsage, "\n"));
}

}  // namespace tidemark::main

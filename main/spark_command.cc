// `tidemark spark`: submits Spark jobs to the gateway, and shows and cancels their runs. Under the name
// tidemark-spark-submit it takes the command line of spark-submit.
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/spark/submit_words.h"
#include "kube/config.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "net/http_client.h"
#include "net/worker.h"

namespace tidemark::main {
namespace {

constexpr std::string_view kGateway = "http://127.0.0.1:8998";
constexpr std::string_view kGatewayVariable = "TIDEMARK_GATEWAY";
constexpr base::Duration kAnswerLimit = std::chrono::seconds(30);
constexpr base::Duration kPollInterval = std::chrono::seconds(1);
constexpr std::size_t kNamesToResolveMax = 16;
constexpr std::size_t kPropertiesMax = 4 * 1024 * 1024;

constexpr std::string_view kSubmitHelp =
    "Usage: tidemark spark submit [flags] FILE [ARGS...]\n\n"
    "Runs a Spark job through the gateway and waits for its end. The flags are those of spark-submit; the environment\n"
    "variable TIDEMARK_GATEWAY is the URL of the gateway (default http://127.0.0.1:8998).\n\n"
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

// The gateway over HTTP, for one command.
class Gateway {
 public:
  explicit Gateway(const std::string& url) : loop_(clock_), workers_(1, kNamesToResolveMax), url_(url) {}

  Result<Json> ask(std::string method, std::string path, std::string body = "") {
    TM_TRY(const auto url, net::parse_url(url_));
    if (!client_) {
      net::HttpClientConfig config;
      config.url = url;
      config.user_agent = "tidemark-spark/" TIDEMARK_VERSION;
      client_ = std::make_unique<net::HttpClient>(loop_, &workers_, std::move(config));
    }
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(path);
    request.headers.add("content-type", "application/json");
    request.headers.add("x-requested-by", "tidemark");
    request.body = std::move(body);
    std::optional<Result<net::HttpResponse>> answer;
    run([&]() -> net::Task<void> { answer.emplace(co_await client_->fetch(std::move(request), kAnswerLimit)); });
    if (!*answer) return fail((*answer).error().within(url_));
    auto json = Json::parse((*answer)->body);
    if (!json) return fail(std::move(json).error().within(url_));
    if ((*answer)->status >= 400) {
      return fail(Error{(*answer)->status == 404 ? ErrorKind::kNotFound : ErrorKind::kInvalid,
                        std::string(json->text_at("msg")), (*answer)->status, 0});
    }
    return *std::move(json);
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
  std::string url_;
  std::unique_ptr<net::HttpClient> client_;
};

std::string gateway_of_environment() {
  const std::string set = environment_or_empty(std::string(kGatewayVariable).c_str());
  return set.empty() ? std::string(kGateway) : set;
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

int follow(Gateway& gateway, std::int64_t id) {
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

int run_submit(const std::vector<std::string>& args) {
  const auto words = cli::parse_submit_words(
      args, [](const std::string& path) { return kube::system_files().read(path, kPropertiesMax); });
  if (!words) {
    wrong_use(base::cat(words.error().message, "\n"));
    return kFailed;  // the exit code of spark-submit
  }
  if (words->help) return print(kSubmitHelp);
  if (words->version) return print("tidemark-spark-submit " TIDEMARK_VERSION "\n");
  Gateway gateway(gateway_of_environment());
  const auto batch = gateway.ask("POST", "/batches", words->body.dump());
  if (!batch) return failed(batch.error());
  const Json* id = batch->at("id");
  if (id == nullptr || !id->is_int()) return failed(Error{ErrorKind::kInvalid, "the gateway returned no id"});
  return follow(gateway, id->as_int());
}

// A command with flags, on one run or on all.
struct RunCommand {
  std::string gateway = std::string(kGateway);
  AnswerForm form;
  std::string id;
};

std::optional<int> parse_run_command(base::Flags& flags, const std::vector<std::string>& args, bool one,
                                     RunCommand& out) {
  flags.text("gateway", out.gateway, "URL of the gateway").placeholder("URL");
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

int run_spark_show(const std::vector<std::string>& args) {
  base::Flags flags("tidemark spark show", "Shows a run: its attempts, their sides, and why.");
  RunCommand command;
  if (auto code = parse_run_command(flags, args, true, command)) return *code;
  const auto batch = Gateway(command.gateway).ask("GET", base::cat("/batches/", command.id));
  if (!batch) return failed(batch.error());
  return command.form.json() ? print(batch->dump_pretty() + "\n") : show(*batch);
}

int run_spark_cancel(const std::vector<std::string>& args) {
  base::Flags flags("tidemark spark cancel", "Stops a run, wherever it is.");
  RunCommand command;
  if (auto code = parse_run_command(flags, args, true, command)) return *code;
  const auto done = Gateway(command.gateway).ask("DELETE", base::cat("/batches/", command.id));
  if (!done) return failed(done.error());
  return print(base::cat("run ", command.id, " is being cancelled\n"));
}

struct SparkCommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);
};
constexpr SparkCommand kSparkCommands[] = {
    {"submit", "run a job with the command line of spark-submit", run_submit},
    {"list", "list runs", run_spark_list},
    {"show", "show a run and why it went where it went", run_spark_show},
    {"cancel", "stop a run", run_spark_cancel},
};
constexpr std::string_view kSparkUsage = "tidemark spark [flags] submit|list|show|cancel";

}  // namespace

int run_spark_submit(const std::vector<std::string>& args) {
  return run_submit(args);
}

int run_spark(const std::vector<std::string>& args) {
  if (args.empty()) return wrong_use(base::cat("tidemark: command is missing\nusage: ", kSparkUsage, "\n"));
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    std::string out = base::cat("Usage: ", kSparkUsage, "\n\nSpark jobs at the gateway.\n\nCommands:\n");
    for (const auto& each : kSparkCommands) {
      out += base::cat("  ", each.name, std::string(8 - each.name.size(), ' '), each.summary, "\n");
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

#include "main/line_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "journal/audit_file.h"
#include "net/http.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kQueueMax = 16;
constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 20;
constexpr std::string_view kStateFile = "stream.json";

// A missing token does not delay the stream: the collector rejects requests without one.
class Token {
 public:
  Token(std::string path, const base::Log& log, const base::Clock& clock)
      : path_(std::move(path)), log_(log), clock_(clock) {}
  std::string operator()() {
    if (!file_) {
      auto opened = kube::TokenFile::open(path_, kube::system_files(), clock_);
      if (opened) {
        file_ = *std::move(opened);
      } else if (!std::exchange(told_, true)) {
        log_.warn("cannot read collector token; sending without it", {{"error", opened.error().message}});
      }
    }
    return file_ ? file_->token() : "";
  }

 private:
  std::string path_;
  base::Log log_;
  const base::Clock& clock_;
  std::shared_ptr<kube::TokenFile> file_;
  bool told_ = false;
};

}  // namespace

void declare_stream_flags(base::Flags& flags, StreamOptions& options) {
  flags.group("Stream");
  flags
      .text("stream-url", options.url,
            "collector that also receives the audit lines and the node's record, as POSTs of JSON lines")
      .placeholder("URL");
  flags.text("stream-ca-file", options.ca_file, "CA file for the collector's certificate (default the system's CAs)")
      .placeholder("FILE");
  flags
      .text("stream-token-file", options.token_file,
            "file with the collector's bearer token; read again when it changes")
      .placeholder("FILE");
}

Result<std::unique_ptr<StreamOutput>> StreamOutput::make(net::EventLoop& loop, const base::Log& log,
                                                         base::Registry& metrics, base::Random random,
                                                         const StreamOptions& options,
                                                         const std::vector<std::string>& files, std::string source) {
  if (options.url.empty()) return std::unique_ptr<StreamOutput>();
  journal::LineStreamOptions stream;
  std::ranges::copy_if(files, std::back_inserter(stream.files), journal::is_file);
  if (stream.files.empty()) {
    return fail(ErrorKind::kInvalid, "--stream-url needs a file to send; give --audit-file");
  }
  auto url = net::parse_url(options.url);
  if (!url) return std::unexpected(std::move(url.error()).within("--stream-url"));
  const std::string& first = stream.files.front();
  const auto slash = first.rfind('/');
  stream.state_file = base::cat(slash == std::string::npos ? "" : first.substr(0, slash + 1), kStateFile);
  stream.target = url->path;
  stream.source = std::move(source);
  if (!options.token_file.empty()) {
    if (url->scheme == "http") {
      return fail(ErrorKind::kInvalid, "--stream-url is not https: it would send the token unencrypted");
    }
    stream.bearer = Token(options.token_file, log, loop.clock());
  }
  net::HttpClientConfig config;
  config.url = *std::move(url);
  config.tls.ca.file = options.ca_file;
  config.limits.body_bytes_max = kAnswerBytesMax;
  config.user_agent = "tidemark/" TIDEMARK_VERSION;
  return std::make_unique<StreamOutput>(loop, log, metrics, std::move(random), std::move(config), std::move(stream));
}

StreamOutput::StreamOutput(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, base::Random random,
                           net::HttpClientConfig collector, journal::LineStreamOptions options)
    : resolvers_(1, kQueueMax),
      files_(1, kQueueMax),
      collector_(loop, &resolvers_, std::move(collector)),
      stream_(loop, collector_, files_, log, metrics, std::move(random), std::move(options)),
      scope_(loop) {
  scope_.spawn(stream_.run());
}

}  // namespace tidemark::main

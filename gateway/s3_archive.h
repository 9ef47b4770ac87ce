// Logs in a bucket of S3, or of another server with its API.
//
//   s3://BUCKET/PATH               https://BUCKET.s3.REGION.amazonaws.com/PATH/…
//   with AWS_ENDPOINT_URL_S3       ENDPOINT/BUCKET/PATH/…, also for a bucket with dots in its name
//
// Requests are signed with AWS Signature Version 4.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "gateway/file_store.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::gateway {

inline constexpr std::string_view kS3Scheme = "s3://";

struct S3Keys {
  std::string id;
  std::string secret;
  std::string session;  // AWS_SESSION_TOKEN; "": none
};

struct S3Access {
  std::string region;
  std::string endpoint;  // "": of AWS
  // Asked for each request, because the file of keys may change.
  std::function<Result<S3Keys>()> keys;
};

// What other clients of S3 read: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else AWS_PROFILE in
// AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials; AWS_REGION or AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3 or
// AWS_ENDPOINT_URL. `read_file` reads a small file.
S3Access s3_access(const std::function<std::string(const std::string&)>& environment,
                   std::function<Result<std::string>(const std::string&)> read_file);

// The keys of one profile in the text of a credentials file.
Result<S3Keys> s3_keys_in(std::string_view text, std::string_view profile);

// Adds the headers of the signature. `host`: as the request will name it. Its target has a path and no query.
void sign_s3(net::HttpRequest& request, std::string_view host, std::string_view region, const S3Keys& keys,
             base::WallTime now);

// `place`: s3://BUCKET or s3://BUCKET/PATH. `workers` resolves names. Fails if the keys are missing.
Result<std::unique_ptr<LogArchive>> open_s3_archive(net::EventLoop& loop, net::WorkerPool* workers, S3Access access,
                                                    std::string_view place);

}  // namespace tidemark::gateway

// Files of HDFS over its REST API (WebHDFS). Of several NameNodes the active one answers; a DataNode carries the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/delegation_tokens.h"
#include "hadoop/negotiate.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

struct HdfsFile {
  std::string name;  // "" for the path that was asked for
  bool folder = false;
  std::int64_t bytes = 0;
  std::int64_t modified_ms = 0;  // since 1970
};
Result<HdfsFile> parse_file_status(std::string_view json);
Result<std::vector<HdfsFile>> parse_file_list(std::string_view json);

// The web addresses of the NameNodes of `authority` ("nn:8020", or a name of dfs.nameservices), by the site files.
// kInvalid: a nameservice without addresses.
Result<std::vector<net::Url>> name_node_addresses(const std::map<std::string, std::string>& site,
                                                  std::string_view authority);

class WebHdfs {
 public:
  // `workers` resolves names. `user` is sent without Kerberos only.
  WebHdfs(net::EventLoop& loop, net::WorkerPool* workers, const std::vector<net::Url>& name_nodes, std::string user,
          MakeGss make_gss);

  // Replaces a file, with the folders that lead to it.
  net::Task<Result<void>> create(std::string path, std::string bytes, base::Duration limit);
  net::Task<Result<void>> append(std::string path, std::string bytes, base::Duration limit);
  net::Task<Result<std::string>> read(std::string path, std::int64_t from, std::int64_t bytes, base::Duration limit);
  net::Task<Result<HdfsFile>> status(std::string path, base::Duration limit);  // kNotFound
  net::Task<Result<std::vector<HdfsFile>>> list(std::string path, base::Duration limit);
  // False: it does not exist, or the target exists.
  net::Task<Result<bool>> rename(std::string from, std::string to, base::Duration limit);
  net::Task<Result<void>> remove(std::string path, base::Duration limit);  // with all below it
  // A token with which clients without a ticket use this file system over RPC. Its service is not set.
  net::Task<Result<DelegationToken>> delegation_token(std::string renewer, base::Duration limit);
  net::Task<Result<void>> touch(std::string path, std::int64_t modified_ms, base::Duration limit);

 private:
  struct Member {
    std::unique_ptr<net::HttpClient> client;
    std::unique_ptr<NegotiatingTransport> proving;  // with Kerberos
  };
  net::Task<Result<net::HttpResponse>> ask(std::string method, std::string path, std::string operation,
                                           base::Duration limit);
  // The second step of a transfer, at the DataNode that the NameNode named.
  net::Task<Result<net::HttpResponse>> transfer(std::string method, std::string path, std::string operation,
                                                std::string body, base::Duration limit);

  net::EventLoop& loop_;
  net::WorkerPool* workers_;
  std::vector<Member> members_;
  std::string user_;
  std::size_t active_ = 0;
};

// What opening a file system needs.
struct HdfsAccess {
  net::WorkerPool* workers = nullptr;
  std::map<std::string, std::string> site;  // the properties of the site files
  std::string user;                         // without Kerberos
  MakeGss make_gss{};                       // with Kerberos
};
struct HdfsPlace {
  WebHdfs files;
  std::string file_system;  // hdfs://nn:8020
  std::string path;
};
// `url`: hdfs://nn:8020/path, or hdfs:///path of fs.defaultFS.
Result<HdfsPlace> open_hdfs(net::EventLoop& loop, const HdfsAccess& access, std::string_view url);

// The service by which clients find a token of the file system hdfs://AUTHORITY: ha-hdfs:NAME, or the address as
// Hadoop writes it (hadoop.security.token.service.use_ip).
net::Task<Result<std::string>> token_service(net::EventLoop& loop, HdfsAccess access, std::string authority,
                                             base::Duration limit);

}  // namespace tidemark::hadoop

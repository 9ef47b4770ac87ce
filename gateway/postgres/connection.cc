#include "gateway/postgres/connection.h"

#include <dlfcn.h>

#include <string_view>
#include <utility>

#include "base/text.h"

namespace tidemark::gateway::postgres {
namespace {

using base::cat;

// Of the server, unless `where` says otherwise.
constexpr const char* kConnectSeconds = "5";
constexpr const char* kUnacknowledgedMs = "5000";
constexpr const char* kServerOptions =
    "-c statement_timeout=10s -c idle_in_transaction_session_timeout=30s -c client_min_messages=warning";

// libpq, as far as it is used. It is loaded when a gateway uses PostgreSQL: other programs of this executable do not
// need it. Its interface libpq.so.5 has these functions and numbers since 2006.
struct PgConnection;
struct PgResult;
struct Library {
  static constexpr const char* kFile = "libpq.so.5";
  static constexpr int kConnectionOk = 0;
  static constexpr int kCommandOk = 1;
  static constexpr int kTuplesOk = 2;
  static constexpr int kIdle = 0;
  static constexpr int kSqlState = 'C';

  PgConnection* (*connect)(const char* const*, const char* const*, int) = nullptr;
  void (*finish)(PgConnection*) = nullptr;
  void (*reset)(PgConnection*) = nullptr;
  int (*status)(const PgConnection*) = nullptr;
  int (*transaction_status)(const PgConnection*) = nullptr;
  char* (*error_message)(const PgConnection*) = nullptr;
  PgResult* (*exec)(PgConnection*, const char*, int, const unsigned*, const char* const*, const int*, const int*,
                    int) = nullptr;
  int (*result_status)(const PgResult*) = nullptr;
  char* (*error_field)(const PgResult*, int) = nullptr;
  char* (*changed)(PgResult*) = nullptr;
  int (*rows)(const PgResult*) = nullptr;
  int (*fields)(const PgResult*) = nullptr;
  char* (*value)(const PgResult*, int, int) = nullptr;
  int (*length)(const PgResult*, int, int) = nullptr;
  void (*clear)(PgResult*) = nullptr;

  static Result<Library> load() {
    void* handle = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      return fail(ErrorKind::kUnsupported, "cannot load ", kFile, ": ", dlerror(), "; install it (Debian: libpq5)");
    }
    Library out;
    bool complete = true;
    const auto find = [&]<class Function>(Function& function, const char* name) {
      function = reinterpret_cast<Function>(dlsym(handle, name));
      complete = complete && function != nullptr;
    };
    find(out.connect, "PQconnectdbParams");
    find(out.finish, "PQfinish");
    find(out.reset, "PQreset");
    find(out.status, "PQstatus");
    find(out.transaction_status, "PQtransactionStatus");
    find(out.error_message, "PQerrorMessage");
    find(out.exec, "PQexecParams");
    find(out.result_status, "PQresultStatus");
    find(out.error_field, "PQresultErrorField");
    find(out.changed, "PQcmdTuples");
    find(out.rows, "PQntuples");
    find(out.fields, "PQnfields");
    find(out.value, "PQgetvalue");
    find(out.length, "PQgetlength");
    find(out.clear, "PQclear");
    if (!complete) return fail(ErrorKind::kUnsupported, kFile, " lacks a function of libpq");
    return out;
  }
};

ErrorKind kind_of(std::string_view state) {
  const std::string_view group = state.substr(0, 2);
  if (group == "40" || group == "57" || state == "25006")
    return ErrorKind::kUnavailable;  // in the way; shutdown; standby
  if (group == "53") return ErrorKind::kExhausted;
  return group == "28" || group == "42" ? ErrorKind::kDenied : ErrorKind::kIo;
}

class PqConnection final : public Connection {
 public:
  PqConnection(const Library& library, PgConnection* connection) : pq_(library), connection_(connection) {}
  ~PqConnection() override { pq_.finish(connection_); }
  PqConnection(const PqConnection&) = delete;
  PqConnection& operator=(const PqConnection&) = delete;

  Result<void> check() const {
    if (pq_.status(connection_) == Library::kConnectionOk) return {};
    return fail(ErrorKind::kUnavailable, "PostgreSQL: ", base::trim(pq_.error_message(connection_)));
  }

  Result<Rows> run(const std::string& sql, const std::vector<Value>& values) override {
    std::vector<const char*> texts;
    for (const Value& value : values) {
      if (value && value->contains('\0')) return fail(ErrorKind::kInvalid, "a text with a zero byte cannot be stored");
      texts.push_back(value ? value->c_str() : nullptr);
    }
    PgResult* result =
        pq_.exec(connection_, sql.c_str(), static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0);
    auto read = rows_of(result);
    pq_.clear(result);
    return read;
  }

  Result<void> connect_again() override {
    if (pq_.status(connection_) == Library::kConnectionOk) return {};
    pq_.reset(connection_);
    TM_TRY_VOID(check());
    ++connects_;
    return {};
  }

  bool in_transaction() const override { return pq_.transaction_status(connection_) != Library::kIdle; }
  std::int64_t connects() const override { return connects_; }

 private:
  Result<Rows> rows_of(PgResult* result) const {
    const int status = pq_.result_status(result);
    if (status != Library::kTuplesOk && status != Library::kCommandOk) return failed(result);
    Rows out;
    out.changed = base::parse_int(pq_.changed(result)).value_or(0);
    for (int row = 0; row < pq_.rows(result); ++row) {
      auto& fields = out.rows.emplace_back();
      for (int field = 0; field < pq_.fields(result); ++field) {
        fields.emplace_back(pq_.value(result, row, field), static_cast<std::size_t>(pq_.length(result, row, field)));
      }
    }
    return out;
  }

  std::unexpected<Error> failed(const PgResult* result) const {
    const bool connected = pq_.status(connection_) == Library::kConnectionOk;
    const char* state = result == nullptr ? nullptr : pq_.error_field(result, Library::kSqlState);
    const ErrorKind kind = !connected ? ErrorKind::kUnavailable : kind_of(state == nullptr ? "" : state);
    return fail(kind, "PostgreSQL: ", base::trim(pq_.error_message(connection_)));
  }

  const Library pq_;
  PgConnection* const connection_;
  std::int64_t connects_ = 1;
};

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const std::string& where) {
  // `dbname` is expanded; what it says outranks the values before it.
  const char* names[] = {"connect_timeout", "tcp_user_timeout", "options", "application_name", "dbname", nullptr};
  const char* values[] = {kConnectSeconds,    kUnacknowledgedMs, kServerOptions,
                          "tidemark-gateway", where.c_str(),     nullptr};
  TM_TRY(const Library library, Library::load());
  auto made = std::make_unique<PqConnection>(library, library.connect(names, values, 1));
  TM_TRY_VOID(made->check());
  return made;
}

}  // namespace tidemark::gateway::postgres

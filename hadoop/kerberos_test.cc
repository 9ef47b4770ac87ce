#include "hadoop/kerberos.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/clock.h"
#include "net/testing/endpoint.h"
#include "net/testing/loop.h"

namespace tidemark::hadoop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Op = HelperRequest::Op;
using Note = HelperAnswer::Note;

TEST(KerberosMessagesTest, RoundTrips) {
  const HelperRequest request{7, Op::kStep, 3, "rm/h@R", std::string("\0x", 2), true, 65536};
  EXPECT_EQ(decode_request(encode(request)), request);
  EXPECT_EQ(decode_request(encode(HelperRequest{})), HelperRequest{});
  HelperAnswer answer;
  answer.number = 7;
  answer.done = fail(ErrorKind::kDenied, "no key");
  const auto refused = decode_answer(encode(answer));
  ASSERT_TRUE(refused && !refused->done);
  EXPECT_EQ(refused->done.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(refused->done.error().message, "no key");
  answer.done = {};
  answer.bytes = "token";
  answer.flag = true;
  answer.size = 9;
  const auto good = decode_answer(encode(answer));
  ASSERT_TRUE(good && good->done);
  EXPECT_EQ(good->bytes, "token");
  EXPECT_TRUE(good->flag);
  EXPECT_EQ(good->size, 9U);
  EXPECT_FALSE(decode_request(""));
  EXPECT_FALSE(decode_request("\x10\x09"));
  EXPECT_FALSE(decode_answer("\x10\x09"));
  EXPECT_FALSE(decode_answer("\x30\x63"));
}

// The process in a test: the other end of its stream, and how it ended.
class KerberosTest : public ::testing::Test {
 protected:
  struct Helper {
    net::testing::Endpoint end;
    FrameReader frames;
    std::vector<HelperRequest> asked;
  };
  class Process : public HelperProcess {
   public:
    Process(std::string ended, int& alive) : ended_(std::move(ended)), alive_(alive) { ++alive_; }
    ~Process() override { --alive_; }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    net::Task<std::string> how_it_ended() override { co_return ended_; }

   private:
    std::string ended_;
    int& alive_;
  };

  Result<StartedHelper> start() {
    if (cannot) return fail(*cannot);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return base::fail_errno(errno, "socketpair");
    Helper& helper = helpers.emplace_back();
    helper.end.on_data = [this, &helper](std::string_view bytes) {
      helper.frames.append(bytes);
      for (auto frame = helper.frames.next(); frame && *frame; frame = helper.frames.next()) {
        helper.asked.push_back(*decode_request(**frame));
        if (answer) answer(helper, helper.asked.back());
      }
      return true;
    };
    helper.end.attach(net::adopt(loop, Fd(ends[1]), "the test"));
    HelperAnswer hello;
    hello.note = Note::kHello;
    hello.version = version;
    if (greets) say(helper, hello);
    return StartedHelper{Fd(ends[0]), std::make_unique<Process>(ended, alive)};
  }

  void say(Helper& helper, const HelperAnswer& what) {
    std::string frame;
    append_frame(frame, encode(what));
    helper.end.connection->write(std::string_view(frame));
  }
  void reply(Helper& helper, const HelperRequest& to, std::string bytes, bool flag = false) {
    HelperAnswer out;
    out.number = to.number;
    out.bytes = std::move(bytes);
    out.flag = flag;
    say(helper, out);
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task));
  }
  bool until(auto&& condition) { return net::testing::run_real_until(loop, condition); }

  static Kerberos::Config quick() {
    return {.answer_limit = seconds(10), .restart = {.initial = milliseconds(20), .max = milliseconds(100)}};
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  std::string said;
  base::Log log{clock,
                {base::LogLevel::kInfo, base::LogFormat::kText, [this](std::string_view line) { said += line; }}};
  std::list<Helper> helpers;
  std::function<void(Helper&, const HelperRequest&)> answer;
  std::optional<Error> cannot;
  std::uint32_t version = kHelperVersion;
  bool greets = true;
  std::string ended = "signal 9";
  int alive = 0;
};

TEST_F(KerberosTest, StartsOnFirstRequestAndEndsWithUs) {
  {
    Kerberos gss(loop, log, [this] { return start(); }, quick(), base::Random(1));
    const auto context = gss.context("rm/h@R");
    EXPECT_EQ(gss.starts(), 0U);
    answer = [&](Helper& helper, const HelperRequest& request) { reply(helper, request, "ap-req"); };
    const auto step = run(context->step(""));
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_EQ(step->token, "ap-req");
    EXPECT_FALSE(step->complete);
    EXPECT_EQ(gss.starts(), 1U);
    EXPECT_EQ(helpers.front().asked[0].server, "rm/h@R");
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_F(KerberosTest, ReportsRefusalsAndLogsItsNotes) {
  base::Registry metrics;
  Kerberos::Config config = quick();
  config.metrics = &metrics;
  Kerberos gss(loop, log, [this] { return start(); }, config, base::Random(1));
  answer = [&](Helper& helper, const HelperRequest& request) {
    HelperAnswer note;
    note.note = Note::kLoginFailed;
    note.done = fail(ErrorKind::kDenied, "the keytab has no key");
    say(helper, note);
    HelperAnswer refused;
    refused.number = request.number;
    refused.done = note.done;
    say(helper, refused);
  };
  const auto own = run(gss.own_principal(seconds(5)));
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(own.error().message, "kerberos: the keytab has no key");
  EXPECT_NE(said.find("WARN"), std::string::npos);
  EXPECT_NE(said.find("not logged in"), std::string::npos);
  HelperAnswer good;
  good.note = Note::kLoggedIn;
  good.principal = "me@R";
  good.until_s = 1700000000;
  say(helpers.front(), good);
  ASSERT_TRUE(until([&] { return said.find("logged in principal=me@R until=2023-11-14T22:13:20") != said.npos; }))
      << said;
  const std::string told = metrics.text();
  EXPECT_TRUE(told.contains("tidemark_kerberos_ticket_end_seconds 1.7e+09\n")) << told;
  EXPECT_TRUE(told.contains("tidemark_kerberos_logins_total 1\n")) << told;
  EXPECT_TRUE(told.contains("tidemark_kerberos_failed_logins_total 1\n")) << told;
}

TEST_F(KerberosTest, ForgetsADestroyedContext) {
  Kerberos gss(loop, log, [this] { return start(); }, quick(), base::Random(1));
  answer = [&](Helper& helper, const HelperRequest& request) { reply(helper, request, "token", true); };
  auto context = gss.context("rm/h@R");
  ASSERT_TRUE(run(context->step("")));
  context.reset();
  ASSERT_TRUE(until([&] { return helpers.front().asked.size() == 2; }));
  EXPECT_EQ(helpers.front().asked[1].op, Op::kForget);
  EXPECT_EQ(helpers.front().asked[1].context, helpers.front().asked[0].context);
}

TEST_F(KerberosTest, RestartsALostProcessWithoutItsContexts) {
  Kerberos gss(loop, log, [this] { return start(); }, quick(), base::Random(1));
  answer = [&](Helper& helper, const HelperRequest& request) {
    if (request.op == Op::kWrap) {
      helper.end.connection.reset();
    } else {
      reply(helper, request, "token", true);
    }
  };
  const auto context = gss.context("rm/h@R");
  ASSERT_TRUE(run(context->step("")));
  const auto lost = run(context->wrap("x", true));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(lost.error().message, "tidemark-kerberos ended: signal 9");
  EXPECT_NE(said.find("tidemark-kerberos is lost"), std::string::npos);
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(run(context->wrap("x", true)));
  const auto later = gss.context("rm/h@R");
  EXPECT_NE(run(later->step("")).error().message.find("; started again in "), std::string::npos);
  const auto again = [](net::EventLoop& on, GssContext& of) -> net::Task<bool> {
    for (int i = 0; i < 1000; ++i) {
      if (co_await of.step("")) co_return true;
      co_await on.sleep(milliseconds(5));
    }
    co_return false;
  };
  EXPECT_TRUE(run(again(loop, *later)));
  EXPECT_EQ(gss.starts(), 2U);
  EXPECT_EQ(run(context->wrap("x", true)).error().message, "tidemark-kerberos restarted and lost its contexts");
}

TEST_F(KerberosTest, ExplainsAProcessThatDoesNotStart) {
  greets = false;
  ended = "exit code 127";
  Kerberos gss(loop, log, [this] { return start(); }, quick(), base::Random(1));
  answer = [&](Helper& helper, const HelperRequest&) { helper.end.connection.reset(); };
  EXPECT_EQ(run(gss.own_principal(seconds(5))).error().message,
            "tidemark-kerberos ended: exit code 127; it did not begin: are MIT Kerberos' libraries there (Debian: "
            "libgssapi-krb5-2)?");
}

TEST_F(KerberosTest, ReportsAMissingProgram) {
  cannot = Error{ErrorKind::kUnavailable, "starting /x: No such file or directory", 0, 0};
  Kerberos gss(loop, log, [this] { return start(); }, quick(), base::Random(1));
  EXPECT_EQ(run(gss.own_principal(seconds(5))).error().message, "starting /x: No such file or directory");
}

TEST_F(KerberosTest, RejectsAnotherVersion) {
  version = kHelperVersion + 1;
  Kerberos gss(loop, log, [this] { return start(); }, quick(), base::Random(1));
  const auto own = run(gss.own_principal(seconds(5)));
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().message, "tidemark-kerberos ended: it is of another version (2, wanted 1)");
}

TEST_F(KerberosTest, ReplacesAFrozenProcess) {
  Kerberos::Config config = quick();
  config.answer_limit = milliseconds(50);
  config.at_once_limit = milliseconds(50);
  {
    Kerberos gss(loop, log, [this] { return start(); }, config, base::Random(1));
    EXPECT_FALSE(run(gss.own_principal(seconds(5))));  // may wait for a KDC: it is asked whether it is there
    ASSERT_TRUE(until([&] { return alive == 0; }));
    EXPECT_EQ(helpers.front().asked.back().op, Op::kPing);
    EXPECT_NE(said.find("it does not answer"), std::string::npos) << said;
  }
  answer = [&](Helper& helper, const HelperRequest& request) {
    if (request.op == Op::kStep) reply(helper, request, "token", true);
  };
  Kerberos gss(loop, log, [this] { return start(); }, config, base::Random(1));
  const auto context = gss.context("rm/h@R");
  ASSERT_TRUE(run(context->step("")));
  EXPECT_EQ(run(context->wrap("x", true)).error().message, "tidemark-kerberos ended: it does not answer");
  EXPECT_EQ(alive, 0);
}

TEST_F(KerberosTest, KeepsAProcessThatWaitsForAKdc) {
  Kerberos::Config config = quick();
  config.answer_limit = milliseconds(50);
  config.at_once_limit = seconds(10);
  answer = [&](Helper& helper, const HelperRequest& request) {
    if (request.op == Op::kPing) reply(helper, request, "");
  };
  Kerberos gss(loop, log, [this] { return start(); }, config, base::Random(1));
  EXPECT_FALSE(run(gss.own_principal(seconds(5))));
  ASSERT_TRUE(until([&] { return helpers.front().asked.size() == 2; }));
  EXPECT_FALSE(run(gss.own_principal(seconds(5))));
  EXPECT_EQ(gss.starts(), 1U);
  EXPECT_EQ(alive, 1);
}

TEST_F(KerberosTest, LimitsTheWaitForAnAnswer) {
  Kerberos::Config config = quick();
  config.answer_limit = milliseconds(100);
  Kerberos gss(loop, log, [this] { return start(); }, config, base::Random(1));
  const auto name = run(gss.canonical_name("127.0.0.1"));
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(name.error().message,
            "tidemark-kerberos has not answered within 100ms: does a KDC of the realm, or DNS, not answer?");
}

}  // namespace
}  // namespace tidemark::hadoop

#include "base/flags.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/text.h"

namespace tidemark::base {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

enum class Format { kText, kJson };

struct FlagsTest : ::testing::Test {
  std::string kubeconfig;
  std::string listen = "127.0.0.1:8443";
  std::size_t count = 0;
  std::string token;
  std::string profile = "koordinator";
  bool leader_elect = true;
  bool dry_run = false;
  std::int64_t workers = 2;
  double qps = 20;
  Duration resync = minutes(10);
  Format format = Format::kText;
  std::vector<std::string> gates = {"Base"};

  std::map<std::string, std::string, std::less<>> variables;
  std::map<std::string, std::string, std::less<>> files;
  Flags flags{"tidemark manager",
              "Sells the idle cores of a cluster's nodes to offline work, and takes them back in time."};

  FlagsTest() {
    flags.group("Kubernetes");
    flags.text("kubeconfig", kubeconfig, "how to reach the API server").placeholder("FILE");
    flags.boolean("leader-elect", leader_elect, "run only while holding the lease").alias("enable-leader-election");
    flags.number("kube-qps", qps, 0.1, 1000, "requests a second");
    flags.group("Serving");
    flags.text("listen", listen, "address of the metrics page").placeholder("ADDRESS").alias("metrics-addr").alias("l");
    flags.text("token", token, "password of the page").secret();
    flags.group("Work");
    flags.integer("workers", workers, 1, 64, "reconciles at the same time");
    flags.duration("resync", resync, seconds(1), hours(24), "how often everything is read again");
    flags.choice("profile", profile, {"koordinator", "tidemark"}, "whose numbers");
    flags.choice("log-format", format, {{"text", Format::kText}, {"json", Format::kJson}}, "how a line looks");
    flags.list("feature-gates", gates, "what to switch on");
    flags.list("even", count, "", count_even, "how many, if that is even").hidden();
    flags.boolean("dry-run", dry_run, "only tell");
  }

  Result<Flags::Parsed> parse(std::vector<std::string> args) {
    return flags.parse(
        args,
        [this](std::string_view name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          return found == variables.end() ? std::nullopt : std::optional(found->second);
        },
        [this](std::string_view path) -> Result<std::string> {
          const auto found = files.find(path);
          if (found == files.end()) return fail(ErrorKind::kIo, "open ", path, ": No such file or directory");
          return found->second;
        });
  }
  Flags::Parsed accept(std::vector<std::string> args) {
    auto parsed = parse(std::move(args));
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? *parsed : Flags::Parsed{};
  }
  std::string refuse(std::vector<std::string> args) {
    const auto parsed = parse(std::move(args));
    EXPECT_FALSE(parsed);
    return parsed ? "" : parsed.error().message;
  }
  std::string refuse_file(std::string text) {
    files["/etc/t.yaml"] = std::move(text);
    return refuse({"--config", "/etc/t.yaml"});
  }
  static Result<std::size_t> count_even(std::span<const std::string> words) {
    if (words.size() % 2 != 0) return fail(ErrorKind::kInvalid, words.size(), " is odd");
    return words.size();
  }
  std::string origin(const Flags::Parsed& parsed, std::string_view name) {
    for (const auto& setting : parsed.settings) {
      if (setting.name == name) return setting.from;
    }
    return "no such setting";
  }
};

TEST_F(FlagsTest, NothingGivenLeavesTheDefaults) {
  const auto parsed = accept({});
  EXPECT_EQ(listen, "127.0.0.1:8443");
  EXPECT_TRUE(leader_elect);
  EXPECT_EQ(gates, std::vector<std::string>{"Base"});
  EXPECT_EQ(origin(parsed, "listen"), "default");
  EXPECT_TRUE(parsed.arguments.empty());
}

TEST_F(FlagsTest, EveryTypeByEqualsSignOrNextWord) {
  accept({"--kubeconfig=/a=b", "--leader-elect=false", "--kube-qps", "2.5", "--listen", "-x", "--workers=64",
          "--resync", "1m30s", "--profile=tidemark", "--log-format", "json", "--feature-gates=A, B", "--dry-run"});
  EXPECT_EQ(kubeconfig, "/a=b");
  EXPECT_FALSE(leader_elect);
  EXPECT_EQ(qps, 2.5);
  EXPECT_EQ(listen, "-x");
  EXPECT_EQ(workers, 64);
  EXPECT_EQ(resync, seconds(90));
  EXPECT_EQ(profile, "tidemark");
  EXPECT_EQ(format, Format::kJson);
  EXPECT_EQ(gates, (std::vector<std::string>{"A", "B"}));
  EXPECT_TRUE(dry_run);
}

TEST_F(FlagsTest, GoForms) {
  accept({"-leader-elect=F", "-workers", "3", "-dry-run=1"});
  EXPECT_FALSE(leader_elect);
  EXPECT_EQ(workers, 3);
  EXPECT_TRUE(dry_run);
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    dry_run = false;
    accept({cat("--dry-run=", yes)});
    EXPECT_TRUE(dry_run) << yes;
  }
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    accept({cat("--leader-elect=", no)});
    EXPECT_FALSE(leader_elect) << no;
  }
  EXPECT_EQ(refuse({"--dry-run=yes"}), "--dry-run: \"yes\" is neither true nor false");
}

TEST_F(FlagsTest, ASwitchTakesNoSeparateWord) {
  EXPECT_EQ(refuse({"--leader-elect", "false"}),
            "--leader-elect: a switch takes its value behind an equals sign: --leader-elect=false");
}

TEST_F(FlagsTest, AliasesAndShortFlags) {
  accept({"--metrics-addr", ":1", "--enable-leader-election=false"});
  EXPECT_EQ(listen, ":1");
  EXPECT_FALSE(leader_elect);
  accept({"-l", ":2"});
  EXPECT_EQ(listen, ":2");
  EXPECT_EQ(origin(accept({"-l=:3"}), "listen"), "-l");
}

TEST_F(FlagsTest, AListMayHaveAMeaningOfItsOwn) {
  accept({"--even=a,b", "--even=c", "--even", "d"});
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(refuse({"--even=a"}), "--even: \"a\" cannot be used: 1 is odd");
  EXPECT_EQ(count, 4u) << "what is refused changes nothing";
  accept({});
  EXPECT_EQ(count, 4u) << "nor does what is not given";
}

TEST_F(FlagsTest, GivenTwiceTheLastWinsAndListsGrow) {
  accept({"--workers=1", "--metrics-addr=a", "--workers=5", "--listen=b", "--feature-gates=A", "--feature-gates=B,C"});
  EXPECT_EQ(workers, 5);
  EXPECT_EQ(listen, "b");
  EXPECT_EQ(gates, (std::vector<std::string>{"A", "B", "C"})) << "and the default is replaced";
  accept({"--feature-gates="});
  EXPECT_TRUE(gates.empty());
}

TEST(FlagsListTest, AVerbatimListKeepsCommas) {
  std::vector<std::string> env;
  Flags flags("program", "A test.");
  flags.list("env", env, "variables").verbatim();
  const std::vector<std::string> args{"--env", "A=1,2", "--env=B= x "};
  const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
  const auto no_file = [](std::string_view) -> Result<std::string> { return fail(ErrorKind::kNotFound, "none"); };
  ASSERT_TRUE(flags.parse(args, nothing, no_file));
  EXPECT_EQ(env, (std::vector<std::string>{"A=1,2", "B= x "}));
}

TEST(FlagsListTest, ExamplesStandInTheHelp) {
  Flags flags("program", "A test.");
  flags.example("program --help");
  EXPECT_NE(flags.help().find("\nExamples:\n  program --help\n"), std::string::npos) << flags.help();
}

TEST_F(FlagsTest, PrecedenceIsCommandLineEnvironmentFileDefault) {
  files["/etc/t.yaml"] = "# ours\nworkers: 3\nlisten: \"file\"\nresync: 1m\n";
  variables["TIDEMARK_CONFIG"] = "/etc/t.yaml";
  variables["TIDEMARK_WORKERS"] = "4";
  variables["TIDEMARK_LISTEN"] = "variable";
  const auto parsed = accept({"--workers", "5"});
  EXPECT_EQ(workers, 5);
  EXPECT_EQ(listen, "variable");
  EXPECT_EQ(resync, minutes(1));
  EXPECT_EQ(profile, "koordinator");
  EXPECT_EQ(origin(parsed, "workers"), "--workers");
  EXPECT_EQ(origin(parsed, "listen"), "environment TIDEMARK_LISTEN");
  EXPECT_EQ(origin(parsed, "resync"), "/etc/t.yaml line 4: resync");
  EXPECT_EQ(origin(parsed, "profile"), "default");
}

TEST_F(FlagsTest, TheConfigFlagOutranksItsVariable) {
  variables["TIDEMARK_CONFIG"] = "/missing";
  files["/here"] = "workers: 9\n";
  accept({"--config=/here"});
  EXPECT_EQ(workers, 9);
  EXPECT_EQ(refuse({}), "environment TIDEMARK_CONFIG: open /missing: No such file or directory");
  EXPECT_EQ(refuse({"--config", "/gone"}), "--config: open /gone: No such file or directory");
}

TEST_F(FlagsTest, AnEmptyVariableIsNotSet) {
  variables["TIDEMARK_WORKERS"] = "";
  variables["TIDEMARK_LISTEN"] = "";
  accept({});
  EXPECT_EQ(workers, 2);
  EXPECT_EQ(listen, "127.0.0.1:8443");
}

TEST_F(FlagsTest, NothingIsAssignedUnlessAllIsRight) {
  variables["TIDEMARK_KUBE_QPS"] = "fast";
  EXPECT_EQ(refuse({"--workers=7", "--listen=x"}), "environment TIDEMARK_KUBE_QPS: \"fast\" is not a number");
  EXPECT_EQ(workers, 2);
  EXPECT_EQ(listen, "127.0.0.1:8443");
}

TEST_F(FlagsTest, ASourceThatIsOutrankedIsCheckedToo) {
  variables["TIDEMARK_WORKERS"] = "many";
  EXPECT_EQ(refuse({"--workers=7"}), "environment TIDEMARK_WORKERS: \"many\" is not a whole number");
}

TEST_F(FlagsTest, BadValuesNamePlaceValueAndRange) {
  EXPECT_EQ(refuse({"--workers=0"}), "--workers: \"0\" is not in 1..64");
  EXPECT_EQ(refuse({"--workers=65"}), "--workers: \"65\" is not in 1..64");
  EXPECT_EQ(refuse({"--workers=0x10"}), "--workers: \"0x10\" is not a whole number");
  EXPECT_EQ(refuse({"--workers="}), "--workers: \"\" is not a whole number");
  EXPECT_EQ(refuse({"--workers=99999999999999999999"}), "--workers: \"99999999999999999999\" is not a whole number");
  EXPECT_EQ(refuse({"--kube-qps=nan"}).substr(0, 12), "--kube-qps: ");
  EXPECT_EQ(refuse({"--resync=5"}), "--resync: \"5\" is not a duration like 300ms, 30s or 1h30m");
  EXPECT_EQ(refuse({"--resync=10ms"}), "--resync: \"10ms\" is not in 1s..24h0m0s");
  EXPECT_EQ(refuse({"--log-format=jsn"}), "--log-format: \"jsn\" is not one of text, json; did you mean json?");
  EXPECT_EQ(refuse({"--profile=zzz"}), "--profile: \"zzz\" is not one of koordinator, tidemark");
  EXPECT_EQ(refuse({"--feature-gates=a,,b"}), "--feature-gates: \"a,,b\" has an empty element");
  EXPECT_EQ(refuse({"--metrics-addr"}), "--metrics-addr: a value must follow");
  EXPECT_EQ(refuse({"--listen", "--workers=1"}),
            "--listen: a value must follow, not another flag; if that is the value, write --listen=...");
}

TEST_F(FlagsTest, UnknownFlagsAreRefusedWithTheNearest) {
  EXPECT_EQ(refuse({"--listn", "x"}), "unknown flag --listn; did you mean --listen?");
  EXPECT_EQ(refuse({"-worker=3"}), "unknown flag -worker; did you mean --workers?");
  EXPECT_EQ(refuse({"--leader_elect"}), "unknown flag --leader_elect; did you mean --leader-elect?");
  EXPECT_EQ(refuse({"--metrics-adr=1"}), "unknown flag --metrics-adr; did you mean --metrics-addr?");
  EXPECT_EQ(refuse({"--zzzzzzzz"}), "unknown flag --zzzzzzzz");
  EXPECT_EQ(refuse({"-9"}), "unknown flag -9");
  EXPECT_EQ(refuse({"--versio"}), "unknown flag --versio; did you mean --version?");
  EXPECT_TRUE(refuse({"---listen"}).starts_with("unknown flag --\"-listen\""));
  EXPECT_TRUE(refuse({"--=x"}).starts_with("unknown flag --\"\""));
}

TEST_F(FlagsTest, TheFileMayBeYamlOrJson) {
  files["/y"] = "leader-elect: false\nkube-qps: 5\nfeature-gates: [A, B]\nprofile: tidemark\nworkers: \"6\"\n";
  accept({"--config=/y"});
  EXPECT_FALSE(leader_elect);
  EXPECT_EQ(qps, 5);
  EXPECT_EQ(gates, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(workers, 6);
  files["/j"] = "{\n\t\"leader-elect\": true,\n\t\"listen\": \"\\ud83d\\ude00\",\n\t\"workers\": 8\n}\n";
  const auto parsed = accept({"--config=/j"});
  EXPECT_TRUE(leader_elect);
  EXPECT_EQ(listen, "😀");
  EXPECT_EQ(origin(parsed, "workers"), "/j line 4: workers");
  files["/c"] = "feature-gates: X,Y\n";
  accept({"--config=/c"});
  EXPECT_EQ(gates, (std::vector<std::string>{"X", "Y"}));
  files["/empty"] = "# nothing yet\n";
  accept({"--config=/empty"});
}

TEST_F(FlagsTest, TheFilesErrorsNameTheLine) {
  EXPECT_EQ(refuse_file("workers: 1\n\nlistn: x\n"), "/etc/t.yaml line 3: unknown key \"listn\"; did you mean listen?");
  EXPECT_EQ(refuse_file("workers: 1\nworkers: 2\n"),
            "/etc/t.yaml line 2, column 1: the key \"workers\" is given twice");
  EXPECT_EQ(refuse_file("{\"workers\": 1,\n\"workers\": 2}"), "/etc/t.yaml line 2: the key \"workers\" is given twice");
  EXPECT_EQ(refuse_file("\nworkers: 99\n"), "/etc/t.yaml line 2: workers: \"99\" is not in 1..64");
  EXPECT_EQ(refuse_file("workers: 1.5\n"), "/etc/t.yaml line 1: workers: \"1.5\" is not a whole number");
  EXPECT_EQ(refuse_file("listen: 007\n"), "/etc/t.yaml line 1: listen: a text is wanted here; put the value in quotes");
  EXPECT_EQ(refuse_file("resync: 5\n"), "/etc/t.yaml line 1: resync: a text is wanted here; put the value in quotes");
  EXPECT_EQ(refuse_file("listen: [a]\n"),
            "/etc/t.yaml line 1: listen: one value is wanted here, not a list or a mapping");
  EXPECT_EQ(refuse_file("leader-elect: yes\n"), "/etc/t.yaml line 1: leader-elect: \"yes\" is neither true nor false");
  EXPECT_EQ(refuse_file("feature-gates: [1]\n"),
            "/etc/t.yaml line 1: feature-gates: every element must be a text; put it in quotes");
  EXPECT_EQ(refuse_file("listen:\n"), "/etc/t.yaml line 1: listen: no value; take the line out to have the default");
  EXPECT_EQ(refuse_file("metrics-addr: x\n"),
            "/etc/t.yaml line 1: \"metrics-addr\" is the flag's other name; write listen");
  EXPECT_EQ(refuse_file("config: x\n"), "/etc/t.yaml line 1: a configuration file cannot name another one");
  EXPECT_TRUE(refuse_file("a: [\n").starts_with("/etc/t.yaml line ")) << refuse_file("a: [\n");
  EXPECT_TRUE(refuse_file("- a\n").starts_with("/etc/t.yaml line 1: a mapping"));
  EXPECT_TRUE(refuse_file("{\"workers\": 1,}}").starts_with("/etc/t.yaml"));
  EXPECT_EQ(refuse_file(std::string(Flags::kConfigBytesMax + 1, ' ')),
            "/etc/t.yaml: 1048577 bytes; the limit is 1048576");
}

TEST_F(FlagsTest, ArgumentsAreCountedAndMayStandBetweenFlags) {
  EXPECT_EQ(refuse({"n1"}), "unexpected argument \"n1\"");
  flags.arguments("KIND [NAME]", 1, 2);
  EXPECT_EQ(accept({"node", "--workers=3", "n1"}).arguments, (std::vector<std::string>{"node", "n1"}));
  EXPECT_EQ(accept({"--dry-run", "--", "--listen", "-"}).arguments, (std::vector<std::string>{"--listen", "-"}));
  EXPECT_EQ(accept({"-"}).arguments, (std::vector<std::string>{"-"}));
  EXPECT_EQ(refuse({"a", "b", "c"}), "unexpected argument \"c\"");
  EXPECT_EQ(refuse({}), "1 more argument wanted");
}

TEST_F(FlagsTest, RequiredFlagsMayComeFromAnywhere) {
  std::string node;
  flags.text("node-name", node, "which node").required();
  EXPECT_EQ(refuse({}),
            "--node-name is required (or environment TIDEMARK_NODE_NAME, or node-name in the configuration file)");
  variables["TIDEMARK_NODE_NAME"] = "n1";
  accept({});
  EXPECT_EQ(node, "n1");
}

TEST_F(FlagsTest, HelpAndVersionStopTheReading) {
  for (const char* ask : {"--help", "-h", "-help"}) EXPECT_TRUE(accept({ask, "--no-such-flag"}).help) << ask;
  EXPECT_TRUE(accept({"--version"}).version);
  EXPECT_FALSE(accept({}).help);
}

TEST_F(FlagsTest, SecretsAreNeverShown) {
  std::int64_t pin = 1234;
  flags.integer("pin", pin, 1000, 9999, "a number to keep").secret();
  const std::string secret = "77777";
  for (const std::string& text :
       {refuse({"--pin", secret}), refuse({"--pim=" + secret}), refuse_file("pin: " + secret + "\n"),
        refuse_file("token: " + secret + "\n"), refuse_file("token: !!int x" + secret + "\n"),
        refuse_file("token: [\"" + secret + "\"]\n"), refuse_file("token: \"" + secret + "\" x\n")}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
    EXPECT_FALSE(text.empty());
  }
  EXPECT_EQ(refuse({"--pin", secret}), "--pin: the value is not valid");
  variables["TIDEMARK_TOKEN"] = secret;
  for (const auto& setting : accept({}).settings) {
    EXPECT_EQ(setting.value.find(secret), std::string::npos);
    if (setting.name == "token") EXPECT_EQ(setting.value, "(secret)");
  }
  EXPECT_EQ(token, secret);
  EXPECT_EQ(flags.help().find("1234"), std::string::npos);
}

TEST_F(FlagsTest, HelpTextIsAlignedAndGrouped) {
  bool internal = false;
  flags.boolean("internal", internal, "for us").hidden();
  std::string lengthy;
  flags.text("a-flag-with-quite-a-long-name-of-its-own", lengthy, "stands alone").placeholder("SOMETHING");
  accept({"--internal"});
  EXPECT_TRUE(internal);
  EXPECT_EQ(flags.help(), R"(Usage: tidemark manager [flags]

Sells the idle cores of a cluster's nodes to offline work, and takes them back in time.

Kubernetes:
  --kubeconfig FILE               how to reach the API server (TIDEMARK_KUBECONFIG)
  --leader-elect                  run only while holding the lease (also --enable-leader-election;
                                  default true; TIDEMARK_LEADER_ELECT)
  --kube-qps NUMBER               requests a second (default 20; 0.1..1000; TIDEMARK_KUBE_QPS)

Serving:
  -l, --listen ADDRESS            address of the metrics page (also --metrics-addr; default
                                  127.0.0.1:8443; TIDEMARK_LISTEN)
  --token TEXT                    password of the page (TIDEMARK_TOKEN)

Work:
  --workers N                     reconciles at the same time (default 2; 1..64; TIDEMARK_WORKERS)
  --resync DURATION               how often everything is read again (default 10m0s; 1s..24h0m0s;
                                  TIDEMARK_RESYNC)
  --profile koordinator|tidemark  whose numbers (default koordinator; TIDEMARK_PROFILE)
  --log-format text|json          how a line looks (default text; TIDEMARK_LOG_FORMAT)
  --feature-gates A,B,...         what to switch on (default Base; TIDEMARK_FEATURE_GATES)
  --dry-run                       only tell (default false; TIDEMARK_DRY_RUN)
  --a-flag-with-quite-a-long-name-of-its-own SOMETHING
                                  stands alone (TIDEMARK_A_FLAG_WITH_QUITE_A_LONG_NAME_OF_ITS_OWN)

General:
  --config FILE                   configuration file, YAML or JSON: flag names as keys
                                  (TIDEMARK_CONFIG)
  -h, --help                      this text
  --version                       the version

A value comes from the command line, else from the environment, else from the configuration file,
else it is the default.
)");
  for (const std::string_view line : split(flags.help(), '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(FlagsDeathTest, WrongDeclarationsAreBugs) {
  Flags flags("p", "");
  std::string text;
  std::int64_t number = 5;
  flags.text("listen", text, "h").alias("other");
  EXPECT_DEATH(flags.text("listen", text, "h"), "twice");
  EXPECT_DEATH(flags.text("other", text, "h"), "twice");
  EXPECT_DEATH(flags.text("config", text, "h"), "twice");
  EXPECT_DEATH(
      {
        flags.text("third", text, "h").alias("listen");
        (void)flags.parse({}, [](std::string_view) { return std::nullopt; }, nullptr);
      },
      "another flag's name");
  EXPECT_DEATH(flags.text("Listen", text, "h"), "small letters");
  EXPECT_DEATH(flags.text("x", text, "h"), "one letter");
  EXPECT_DEATH(flags.integer("n", number, 6, 9, "h"), "outside its range");
  EXPECT_DEATH(flags.choice("c", text, {"a", "b"}, "h"), "not one of the words");
}

}  // namespace
}  // namespace tidemark::base

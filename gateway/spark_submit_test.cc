#include "gateway/spark_submit.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gateway/properties.h"
#include "net/testing/loop.h"

namespace tidemark::gateway {
namespace {

SparkJob job_with_template() {
  SparkJob job;
  job.file = "local:///a.jar";
  job.class_name = "com.example.Main";
  job.conf["spark.kubernetes.container.image"] = "spark";
  job.conf["spark.kubernetes.driver.podTemplateFile"] = "hdfs:///pod.yaml";
  return *checked(std::move(job));
}

KubernetesOptions kubernetes_options() {
  KubernetesOptions out;
  out.master = "https://10.0.0.1:6443";
  return out;
}

DriverNames names_of(std::int64_t run) {
  return driver_names("store", run, 1, job_with_template(), kubernetes_options());
}

// As spark-submit 3.5.9 sends them, shortened.
std::vector<Json> recorded() {
  return {*Json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"finalizers":["a/b"],"name":"x","namespace":"n",
            "labels":{"spark-app-selector":"spark-fd6e","spark-role":"driver"}},"spec":{"containers":[{"name":"side"},
            {"name":"main","args":["driver","--class","C"]}],"volumes":[{"configMap":{"name":"my-438-podspec-conf-map"}},
            {"configMap":{"name":"spark-drv-119-conf-map"}}]}})"),
          *Json::parse(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"my-438-driver-svc",
            "ownerReferences":[{"kind":"Pod","uid":"0"}]},"spec":{"selector":{"spark-app-selector":"spark-fd6e"}}})"),
          *Json::parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"my-438-podspec-conf-map"},
            "data":{"podspec-configmap-key":"kind: Pod"}})"),
          *Json::parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"spark-drv-119-conf-map"},
            "data":{"spark.properties":"spark.driver.host=my-438-driver-svc.n.svc\nspark.master=k8s\\://x\n"}})")};
}

TEST(SparkSubmit, RecordedObjectsGetTheNamesOfTheRun) {
  const DriverNames names = names_of(7);
  auto made = with_our_names(recorded(), names, kubernetes_options());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pod.text_at("metadata", "name"), names.pod);
  EXPECT_EQ(made->pod.text_at("metadata", "labels", "spark-app-selector"), names.app_id);
  EXPECT_EQ(made->pod.at("metadata", "finalizers"), nullptr);
  EXPECT_EQ(made->pod["spec"]["containers"].as_array()[1].text_at("name"), kDriverContainer);
  EXPECT_EQ(made->service.text_at("metadata", "name"), names.service);
  EXPECT_EQ(made->service.at("metadata", "ownerReferences"), nullptr);
  EXPECT_EQ(made->config_map.text_at("metadata", "name"), names.config_map);
  const auto properties = parse_properties(made->config_map.text_at("data", "spark.properties"));
  EXPECT_EQ(properties.at("spark.master"), "k8s://https://10.0.0.1:6443");
  EXPECT_EQ(properties.at("spark.driver.host"), names.service + ".n.svc");
  ASSERT_EQ(made->more.size(), 1U);
  const auto& volumes = made->pod["spec"]["volumes"].as_array();
  EXPECT_EQ(volumes[0].text_at("configMap", "name"), made->more[0].text_at("metadata", "name"));
  EXPECT_EQ(volumes[1].text_at("configMap", "name"), names.config_map);

  add_profile(*made, job_with_template(), names, kubernetes_options());
  EXPECT_EQ(made->more[0].text_at("metadata", "labels", kRunLabel), "store-7");
}

TEST(SparkSubmit, CauseIsTheExceptionOrTheLastLines) {
  EXPECT_EQ(cause_in("INFO a\nException in thread \"main\" X: no\n\tat b\nCaused by: Y: why\n\tat c\nINFO end\n"),
            "Exception in thread \"main\" X: no; Caused by: Y: why");
  EXPECT_EQ(cause_in("1\n2\n3\n\n4\n"), "2; 3; 4");
}

class Processes : public ::testing::Test {
 protected:
  Processes() {
    char made[] = "/tmp/tidemark-spark-XXXXXX";
    folder_ = mkdtemp(made);
    std::filesystem::create_directory(folder_ + "/bin");
    std::ofstream(folder_ + "/bin/spark-submit") << "#!/bin/sh\n";
    ::chmod((folder_ + "/bin/spark-submit").c_str(), 0755);
    kube::PluginHost host;
    host.run = [this](kube::PluginCommand, base::Duration) -> net::Task<Result<kube::PluginEnd>> {
      ++started_;
      co_await go_.wait();
      co_return kube::PluginEnd{1, 0, "Error: no\n", ""};
    };
    SparkSubmitOptions options;
    options.home = options.folder = folder_;
    options.processes_max = 1;
    submit_ = *SparkSubmit::make(loop_, log_, host, options);
  }
  ~Processes() override { std::filesystem::remove_all(folder_); }

  base::SystemClock clock_;
  base::Log log_{clock_, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  net::EventLoop loop_{clock_};
  net::Event go_{loop_};
  std::string folder_;
  int started_ = 0;
  std::unique_ptr<SparkSubmit> submit_;
};

TEST_F(Processes, RunBeyondTheMostWaitsAndIsWokenWhenOneEnds) {
  net::Scope scope(loop_);
  std::optional<Result<DriverObjects>> first, second;
  bool woken = false;
  const auto translate = [&](std::int64_t run, std::optional<Result<DriverObjects>>& out) -> net::Task<void> {
    out.emplace(
        co_await submit_->translate(job_with_template(), names_of(run), kubernetes_options(), [&] { woken = true; }));
  };
  scope.spawn(translate(1, first));
  scope.spawn(translate(2, second));
  ASSERT_TRUE(net::testing::run_real_until(loop_, [&] { return started_ == 1 && second.has_value(); }));
  EXPECT_EQ(second->error().kind, ErrorKind::kExhausted);
  EXPECT_FALSE(woken);
  go_.set();
  ASSERT_TRUE(net::testing::run_real_until(loop_, [&] { return first.has_value(); }));
  EXPECT_EQ(first->error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(first->error().message, "spark-submit: Error: no");
  EXPECT_TRUE(woken);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/spark-submit-store-1.conf"));
}

}  // namespace
}  // namespace tidemark::gateway

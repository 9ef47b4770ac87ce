#include "yarn_copilot/disk_limit.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/make.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::size_t kPassesWaitingMax = 2;
// A group of cpuset below offline work's own would keep the processors of that from being fewer.
constexpr linux::Controllers kOnlyCpuset(1U << static_cast<unsigned>(linux::Controller::kCpuset));
constexpr std::size_t kTextBytes = 64 * 1024;  // a line for each disk

const linux::Hierarchy* home_of(const linux::Hierarchies& hierarchies) {
  const auto at = hierarchies.of(linux::Controller::kIo);
  return at ? &hierarchies.all()[*at] : nullptr;
}

std::string folder_of(const linux::Hierarchy& home, const std::string& group) {
  return base::cat(home.path, "/", group);
}

// What is not wanted is somebody else's, and stays.
linux::IoLimit over(const linux::IoLimit& found, const linux::IoLimit& wanted) {
  return {wanted.read_bytes_s ? wanted.read_bytes_s : found.read_bytes_s,
          wanted.write_bytes_s ? wanted.write_bytes_s : found.write_bytes_s};
}

// The wrong ones are told by whoever put it in force.
std::set<linux::DiskNumber> disks_of(const DiskLimitConfig& config, linux::Buffer& buffer,
                                     std::set<std::string>* wrong) {
  std::set<linux::DiskNumber> out;
  for (const std::string& folder : config.folders) {
    const auto disk = linux::disk_of(folder, config.sys_root, buffer);
    if (disk) out.insert(*disk);
    if (!disk && wrong != nullptr) wrong->insert(disk.error().message);
  }
  return out;
}

std::string as_json(const linux::IoLimit& limit) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  if (limit.read_bytes_s) json.member("readBytesPerSecond", *limit.read_bytes_s);
  if (limit.write_bytes_s) json.member("writeBytesPerSecond", *limit.write_bytes_s);
  json.end_object();
  return out;
}

}  // namespace

DiskLimit::DiskLimit(net::EventLoop& loop, const linux::Hierarchies& hierarchies, std::string group, base::Log log,
                     base::Registry& metrics, std::function<void(model::AuditLine)> audit, DiskLimitConfig config)
    : loop_(loop),
      hierarchies_(hierarchies),
      group_(std::move(group)),
      log_(std::move(log)),
      disks_(metrics.gauge("tidemark_yarn_copilot_limited_disks",
                           "Disks of the local folders on which a limit of containers' reads or writes is in force.")),
      audit_(std::move(audit)),
      config_(std::move(config)),
      worker_(1, kPassesWaitingMax) {
  const auto gauge = [&](const char* name, const char* help, const std::optional<std::int64_t>& bytes) {
    metrics.gauge(name, help).set(static_cast<double>(bytes.value_or(0)));
  };
  gauge("tidemark_yarn_copilot_disk_read_limit_bytes",
        "What containers may read from each of them in a second, all together; 0 without a limit.",
        config_.wanted.read_bytes_s);
  gauge("tidemark_yarn_copilot_disk_write_limit_bytes",
        "What containers may write to each of them in a second, all together; 0 without a limit.",
        config_.wanted.write_bytes_s);
}

bool DiskLimit::wants_one_group(const linux::Hierarchies& hierarchies) {
  const linux::Hierarchy* home = home_of(hierarchies);
  return home != nullptr && home->version == linux::Version::kV1;
}

net::Task<void> DiskLimit::run() {
  while (true) {
    co_await pass();
    co_await loop_.sleep(config_.interval);
  }
}

DiskLimit::Report DiskLimit::put_in_force(const linux::Hierarchies& hierarchies, const std::string& group,
                                          const DiskLimitConfig& config) {
  Report out;
  const linux::Hierarchy* home = home_of(hierarchies);
  if (home == nullptr) {
    out.wrong.insert("this machine's cgroups have no controller of disks (blkio, io)");
    return out;
  }
  const auto above = linux::Group::open(hierarchies, group.substr(0, group.rfind('/')));
  if (!above || !*above) {
    out.wrong.insert(base::cat("no kubelet has made what the group ", group, " is to be in"));
    return out;
  }
  // In v2 this hands the controller down to it.
  if (auto made = linux::make_group(hierarchies, group, kOnlyCpuset); !made) {
    out.wrong.insert(made.error().message);
    return out;
  }
  linux::Buffer buffer(kTextBytes);
  for (const linux::DiskNumber& disk : disks_of(config, buffer, &out.wrong)) {
    const std::string place = folder_of(*home, group);
    const auto found = linux::read_io_limit(place, home->version, disk, buffer);
    if (!found) {
      out.wrong.insert(found.error().message);
      continue;
    }
    if (const linux::IoLimit now = over(*found, config.wanted); *found != now) {
      if (auto written = linux::write_io_limit(place, home->version, disk, now); !written) {
        out.wrong.insert(written.error().message);
        continue;
      }
      out.changes.push_back({disk, *found, now});
    }
    out.in_force.insert(disk);
  }
  return out;
}

net::Task<void> DiskLimit::pass() {
  std::function<Report()> work = [&hierarchies = hierarchies_, group = group_, config = config_] {
    return put_in_force(hierarchies, group, config);
  };
  const auto report = co_await worker_.run(loop_, std::move(work));
  if (!report) co_return;
  disks_.set(static_cast<double>(report->in_force.size()));
  for (const Change& each : report->changes) {
    found_.emplace(each.disk, each.found);  // what is found later somebody has written over ours
    tell(each, "what containers may read and write is limited");
  }
  // What is there as it is wanted, one that was killed has left.
  for (const linux::DiskNumber& disk : report->in_force) found_.emplace(disk, linux::IoLimit());
  for (const std::string& each : report->wrong) {
    if (told_.insert(each).second) log_.warn("containers are not limited on a disk", {{"why", each}});
  }
}

net::Task<void> DiskLimit::put_back() {
  const linux::Hierarchy* home = home_of(hierarchies_);
  if (home == nullptr) co_return;
  std::function<std::vector<Change>()> work = [home = *home, group = group_, config = config_, found = found_] {
    std::vector<Change> out;
    linux::Buffer buffer(kTextBytes);
    const std::string place = folder_of(home, group);
    for (const linux::DiskNumber& disk : disks_of(config, buffer, nullptr)) {
      const auto now = linux::read_io_limit(place, home.version, disk, buffer);
      if (!now || over(*now, config.wanted) != *now) continue;  // somebody else's, or the group is gone
      const auto before = found.find(disk);
      linux::IoLimit back = before == found.end() ? linux::IoLimit() : before->second;
      if (!config.wanted.read_bytes_s) back.read_bytes_s = now->read_bytes_s;
      if (!config.wanted.write_bytes_s) back.write_bytes_s = now->write_bytes_s;
      if (linux::write_io_limit(place, home.version, disk, back)) out.push_back({disk, *now, back});
    }
    return out;
  };
  const auto done = co_await worker_.run(loop_, std::move(work));
  if (!done) co_return;
  for (const Change& each : *done) tell(each, "what containers may read and write is as it was found");
}

void DiskLimit::tell(const Change& change, const char* what) {
  log_.info(what, {{"disk", change.disk.text()}, {"group", group_}, {"limit", as_json(change.now)}});
  if (!audit_) return;
  model::AuditLine line;
  line.time = loop_.clock().wall();
  line.actor = "yarn-copilot";
  line.verb = "limit";
  line.kind = "Disk";
  line.ns = group_;
  line.name = change.disk.text();
  line.old_value = as_json(change.found);
  line.new_value = as_json(change.now);
  audit_(std::move(line));
}

}  // namespace tidemark::yarn_copilot

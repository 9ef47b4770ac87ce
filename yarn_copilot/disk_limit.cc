#include "yarn_copilot/disk_limit.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/make.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::size_t kDiskPassesWaitingMax = 2;
// A cpuset cgroup below that of offline work would prevent its CPUs from being reduced.
constexpr linux::Controllers kOnlyCpuset = linux::controllers_of({linux::Controller::kCpuset});
constexpr linux::Controllers kOnlyIo = linux::controllers_of({linux::Controller::kIo});
constexpr std::size_t kTextBytes = 64 * 1024;  // a line for each disk

const linux::Hierarchy* home_of(const linux::Hierarchies& hierarchies) {
  const auto at = hierarchies.of(linux::Controller::kIo);
  return at ? &hierarchies.all()[*at] : nullptr;
}

std::string folder_of(const linux::Hierarchy& home, const std::string& group) {
  return base::cat(home.path, "/", group);
}

// Values that we do not set belong to other programs and stay.
linux::IoLimit over(const linux::IoLimit& found, const linux::IoLimit& wanted) {
  return {wanted.read_bytes_s ? wanted.read_bytes_s : found.read_bytes_s,
          wanted.write_bytes_s ? wanted.write_bytes_s : found.write_bytes_s};
}

// The caller that wrote the limit reports errors.
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

void write_limit(base::JsonWriter& json, const linux::IoLimit& limit) {
  json.begin_object();
  if (limit.read_bytes_s) json.member("readBytesPerSecond", *limit.read_bytes_s);
  if (limit.write_bytes_s) json.member("writeBytesPerSecond", *limit.write_bytes_s);
  json.end_object();
}

std::string as_json(const linux::IoLimit& limit) {
  std::string out;
  base::JsonWriter json(out);
  write_limit(json, limit);
  return out;
}

void write_or_null(base::JsonWriter& json, std::string_view name, const std::optional<std::int64_t>& number) {
  json.key(name);
  if (number) {
    json.value(*number);
  } else {
    json.null();
  }
}

std::string in_words(const linux::IoLimit& limit) {
  const auto part = [](const std::optional<std::int64_t>& bytes, std::string_view what) {
    return bytes ? base::cat(*bytes >> 20, " MiB/s ", what) : std::string();
  };
  const std::string read = part(limit.read_bytes_s, "read"), written = part(limit.write_bytes_s, "written");
  return base::cat(read, read.empty() || written.empty() ? "" : ", ", written);
}

}  // namespace

DiskLimit::DiskLimit(net::EventLoop& loop, const linux::Hierarchies& hierarchies, Containers& containers, base::Log log,
                     base::Registry& metrics, std::function<void(model::AuditLine)> audit, DiskLimitConfig config)
    : loop_(loop),
      hierarchies_(hierarchies),
      containers_(containers),
      log_(std::move(log)),
      disks_(metrics.gauge("tidemark_yarn_copilot_limited_disks",
                           "Disks of the local folders on which a limit of containers' reads or writes is in force.")),
      enforced_(metrics.gauge("tidemark_yarn_copilot_disk_limit_enforced",
                              "1 if that limit applies, 0 if there is no limit, or the node's agent "
                              "observes, is off, or does not know yet.")),
      audit_(std::move(audit)),
      config_(std::move(config)),
      began_(loop.clock().monotonic()),
      said_(loop),
      worker_(1, kDiskPassesWaitingMax) {
  const auto gauge = [&](const char* name, const char* help, const std::optional<std::int64_t>& bytes) {
    metrics.gauge(name, help).set(static_cast<double>(bytes.value_or(0)));
  };
  gauge("tidemark_yarn_copilot_disk_read_limit_bytes",
        "Bytes per second that all containers together may read from each of them, if in force; 0 without a limit.",
        config_.wanted.read_bytes_s);
  gauge("tidemark_yarn_copilot_disk_write_limit_bytes",
        "Bytes per second that all containers together may write to each of them, if in force; 0 without a limit.",
        config_.wanted.write_bytes_s);
}

bool DiskLimit::wants_one_group(const linux::Hierarchies& hierarchies) {
  const linux::Hierarchy* home = home_of(hierarchies);
  return home != nullptr && home->version == linux::Version::kV1;
}

void DiskLimit::set_permit(copilot::LimitPermit permit) {
  if (permit_ == permit) return;
  log_.info("received permit for disk limits", {{"permit", copilot::to_string(permit)}});
  permit_ = permit;
  said_.set();
}

net::Task<void> DiskLimit::run() {
  while (true) {
    said_.clear();
    const Step step = co_await next_step();
    enforced_.set(step == Step::kLimit ? 1 : 0);
    if (step == Step::kLimit) co_await limit();  // another program may have written, or a disk may be new
    if (step == Step::kRestore) co_await put_back();
    const base::Duration patience = began_ + config_.permit_patience - loop_.clock().monotonic();
    const bool waits = !permit_ && patience > base::Duration(0);
    co_await said_.wait_for(waits ? std::min(patience, config_.interval) : config_.interval);
  }
}

net::Task<DiskLimit::Step> DiskLimit::next_step() {
  if (!permit_) {
    co_return loop_.clock().monotonic() - began_ < config_.permit_patience ? Step::kKeep : Step::kLimit;
  }
  switch (*permit_) {
    case copilot::LimitPermit::kKeep:
      co_return Step::kKeep;
    case copilot::LimitPermit::kEnforce:
      co_return Step::kLimit;
    case copilot::LimitPermit::kRestore:
      co_return Step::kRestore;
    case copilot::LimitPermit::kOff:
      break;
  }
  const auto running = co_await containers_.running(Detail::kPlain);
  co_return running && running->empty() ? Step::kRestore : Step::kKeep;  // unlisted containers may run
}

bool DiskLimit::is_ours(const linux::IoLimit& stands) const {
  return limits() && over(stands, config_.wanted) == stands;
}

std::size_t DiskLimit::in_force() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(stands_, [this](const auto& each) { return is_ours(each.second); }));
}

DiskLimit::Report DiskLimit::put_in_force(const linux::Hierarchies& hierarchies, const DiskLimitConfig& config) {
  Report out;
  const linux::Hierarchy* home = home_of(hierarchies);
  if (home == nullptr) {
    out.wrong.insert("this machine's cgroups have no controller of disks (blkio, io)");
    return out;
  }
  const auto above = linux::Group::open(hierarchies, config.group.substr(0, config.group.rfind('/')));
  if (!above || !*above) {
    out.wrong.insert(base::cat("no kubelet has made the parent of cgroup ", config.group));
    return out;
  }
  // In v2 this delegates the controller to it.
  if (auto made = linux::make_group(hierarchies, config.group, kOnlyCpuset, kOnlyIo); !made) {
    out.wrong.insert(made.error().message);
    return out;
  }
  linux::Buffer buffer(kTextBytes);
  for (const linux::DiskNumber& disk : disks_of(config, buffer, &out.wrong)) {
    const std::string place = folder_of(*home, config.group);
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
    out.stands[disk] = over(*found, config.wanted);
  }
  return out;
}

DiskLimit::Report DiskLimit::restore(const linux::Hierarchies& hierarchies, const DiskLimitConfig& config,
                                     const std::map<linux::DiskNumber, linux::IoLimit>& found) {
  Report out;
  const linux::Hierarchy* home = home_of(hierarchies);
  if (home == nullptr) return out;
  linux::Buffer buffer(kTextBytes);
  const std::string place = folder_of(*home, config.group);
  for (const linux::DiskNumber& disk : disks_of(config, buffer, &out.wrong)) {
    const auto now = linux::read_io_limit(place, home->version, disk, buffer);
    if (!now) continue;  // the cgroup is gone or never existed
    out.stands[disk] = *now;
    if (over(*now, config.wanted) != *now) continue;  // written by another program
    const auto before = found.find(disk);
    linux::IoLimit back = before == found.end() ? linux::IoLimit() : before->second;
    if (!config.wanted.read_bytes_s) back.read_bytes_s = now->read_bytes_s;
    if (!config.wanted.write_bytes_s) back.write_bytes_s = now->write_bytes_s;
    if (back == *now) continue;
    if (const auto written = linux::write_io_limit(place, home->version, disk, back); !written) {
      out.wrong.insert(written.error().message);
      continue;
    }
    out.changes.push_back({disk, *now, back});
    out.stands[disk] = back;
  }
  return out;
}

void DiskLimit::take(Report report, const char* what) {
  for (const Change& each : report.changes) tell(each, what);
  for (const std::string& each : report.wrong) {
    if (told_.insert(each).second) log_.warn("cannot apply disk limit", {{"why", each}});
  }
  stands_ = std::move(report.stands);
  wrong_ = std::move(report.wrong);
  disks_.set(static_cast<double>(in_force()));
}

net::Task<void> DiskLimit::limit() {
  std::function<Report()> work = [&hierarchies = hierarchies_, config = config_] {
    return put_in_force(hierarchies, config);
  };
  auto report = co_await worker_.run(loop_, std::move(work));
  if (!report) co_return;
  // A value found later was written by another program over ours.
  for (const Change& each : report->changes) found_.emplace(each.disk, each.found);
  // A value that equals ours was left by a copilot that was killed.
  for (const auto& [disk, stands] : report->stands) found_.emplace(disk, linux::IoLimit());
  take(*std::move(report), "disk limit set");
}

net::Task<void> DiskLimit::put_back() {
  std::function<Report()> work = [&hierarchies = hierarchies_, config = config_, found = found_] {
    return restore(hierarchies, config, found);
  };
  auto report = co_await worker_.run(loop_, std::move(work));
  if (!report) co_return;
  take(*std::move(report), "disk limit restored to the original value");
  // If limited again, the value found then is the original value, or the older one if ours is still there.
  std::erase_if(found_, [this](const auto& each) {
    const auto stands = stands_.find(each.first);
    return stands == stands_.end() || !is_ours(stands->second);
  });
}

std::string DiskLimit::says() const {
  if (!limits()) return "";
  const std::string what = base::cat("disks of containers: ", in_words(config_.wanted));
  const std::size_t held = in_force();
  const bool to_be = enforced_.value() > 0;
  if (held == 0 && !to_be) return base::cat(what, " where it is enforced");
  std::string_view until;
  if (!to_be) until = permit_ == copilot::LimitPermit::kOff ? " until no container runs" : ", as it stood";
  return base::cat(what, ", in force on ", held, held == 1 ? " disk" : " disks", until, wrong_.empty() ? "" : ": ",
                   wrong_.empty() ? "" : *wrong_.begin());
}

void DiskLimit::write(base::JsonWriter& json) const {
  json.begin_object().key("permit");
  if (permit_) {
    json.value(copilot::to_string(*permit_));
  } else {
    json.null();
  }
  write_or_null(json, "readBytesPerSecond", config_.wanted.read_bytes_s);
  write_or_null(json, "writeBytesPerSecond", config_.wanted.write_bytes_s);
  json.member("group", config_.group).key("disks").begin_array();
  for (const auto& [disk, stands] : stands_) {
    json.begin_object().member("disk", disk.text()).member("inForce", is_ours(stands)).key("stands");
    write_limit(json, stands);
    if (const auto before = found_.find(disk); before != found_.end()) {
      json.key("before");
      write_limit(json, before->second);
    }
    json.end_object();
  }
  json.end_array().key("wrong").begin_array();
  for (const std::string& each : wrong_) json.value(each);
  json.end_array().member("says", says()).end_object();
}

void DiskLimit::tell(const Change& change, const char* what) {
  log_.info(what, {{"disk", change.disk.text()}, {"group", config_.group}, {"limit", as_json(change.now)}});
  if (!audit_) return;
  model::AuditLine line;
  line.time = loop_.clock().wall();
  line.actor = "yarn-copilot";
  line.verb = "limit";
  line.kind = "Disk";
  line.ns = config_.group;
  line.name = change.disk.text();
  line.old_value = as_json(change.found);
  line.new_value = as_json(change.now);
  audit_(std::move(line));
}

}  // namespace tidemark::yarn_copilot

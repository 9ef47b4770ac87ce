#include "agent/record/recorder.h"

#include "base/text.h"
#include "journal/audit_file.h"

namespace tidemark::agent {

Recorder::Recorder(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const RecorderOptions& options)
    : loop_(loop), on_line_(options.on_line), stretch_(options.node, options.limits_of) {
  if (options.state_dir.empty()) return;
  backlog_ = journal::keep_lines(
      loop, log,
      {{base::cat(options.state_dir, "/", kRecordFile), options.bytes_max},
       kRecordWaitingMax,
       "what is measured is not recorded; all else goes on",
       "what is measured is recorded again",
       metrics.counter("tidemark_agent_record_kept_total", "Lines that were written to the node's record."),
       metrics.counter("tidemark_agent_record_lost_total", "Lines of the record that could not be kept."),
       model::node_record_lost_line});
}

void Recorder::observe(const StretchInputs& inputs) {
  if (!backlog_) return;
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!began_) began_ = now;
  stretch_.take(inputs);
  if (now - *began_ >= kRecordEvery) write(lines_ % kRecordWholeEvery == 0);
}

void Recorder::observe(const KernelEvent& event, const TaskSnapshot& tasks) {
  if (backlog_) stretch_.take(event, tasks, loop_.clock().wall());
}

void Recorder::write(bool whole) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  const model::NodeRecord line = stretch_.end(loop_.clock().wall(), now - *began_, whole);
  backlog_->add({to_line(line), {}});
  if (on_line_) on_line_(line);
  began_ = now;
  ++lines_;
}

net::Task<bool> Recorder::drain(base::Duration limit) {
  if (!backlog_) co_return true;
  if (began_ && loop_.clock().monotonic() > *began_) write(true);
  co_return co_await backlog_->drain(limit);
}

}  // namespace tidemark::agent

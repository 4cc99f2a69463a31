// The pipeline: what waits in the queue becomes prompts, completions become actions and replies.
//
// Begin and Finish hold the whole control flow of a command; Complete ends it when its actions have
// ended. Every accepted command gets exactly one final or error: it is in running_ from `accepted`
// until then, and nothing else takes it out.
//
//   queue ─▶ Begin ─▶ engine ─▶ Finish ─▶ actuator ─▶ Complete ─▶ outbox
//
// Thread: the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "integrations/integration.h"
#include "service/actuator.h"
#include "service/command.h"
#include "service/command_history.h"
#include "service/command_queue.h"
#include "service/health.h"
#include "service/metrics.h"
#include "service/outbox.h"
#include "service/reply.h"
#include "service/topics.h"
#include "service/transport.h"

namespace service {

struct AssistantOptions {
  Topics::Options topics;
  CommandOptions commands;
  int queue_length_max = 16;
  std::string software_version;
  integrations::Message discovery;  // no topic: none
  std::chrono::milliseconds metrics_interval{30'000};
};

class Assistant {
 public:
  Assistant(const AssistantOptions& options, Transport& transport, CommandQueue<Inbound>& queue,
            CommandHistory& history, const integrations::Integration& integration);

  // Before the engine serves, and when something is wrong. Commands are answered not_ready.
  void Enter(State state);
  // From now on commands are served. The engine has its prefix and outlives this.
  void Serve(engine::Engine& engine, const engine::PrefixInfo& prefix);

  // kTakenOver: another service with this node has come, and this one has to end.
  enum class Outcome { kGoOn, kStop, kTakenOver };
  // Handles what waits and runs one step of the engine. Sleeps while there is nothing to do, unless
  // told not to (in the midst of long work).
  Outcome Turn(bool may_sleep);

  // Ends what runs with an error each, says offline (unless another service is online in its place)
  // and closes the connection.
  void Stop(std::chrono::milliseconds patience);

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Running {
    Command command;
    Reply reply;
    FinalReply final_reply;  // filled by Finish
    std::string sentence;    // to say if all goes well
    int actions_under_way = 0;
  };

  void KeepConnected(Time now);
  void Take(Inbound inbound);
  void Begin(const Command& command);
  void Reject(const Rejected& rejected);
  void Cancel(const Cancellation& cancellation);
  void Finish(const engine::Completion& completion);
  void Act(std::uint64_t key, Running& running, const integrations::Answer& answer);
  void Complete(std::uint64_t key);
  void Fail(std::uint64_t key, CommandError error, const std::string& sentence);
  void End(std::uint64_t key, OutboundMessage last_event);
  void PollActions(Time now);
  void PublishMetrics(Time now);
  void ShowState();
  Time WakeTime() const;

  const AssistantOptions options_;
  const Topics topics_;
  Transport& transport_;
  CommandQueue<Inbound>& queue_;
  CommandHistory& history_;
  const integrations::Integration& integration_;
  Outbox outbox_;
  Actuator actuator_;
  Metrics metrics_;
  engine::Engine* engine_ = nullptr;
  engine::PrefixInfo prefix_;
  std::map<std::uint64_t, Running> running_;
  std::uint64_t next_key_ = 1;
  bool is_taken_over_ = false;
  State state_ = State::kLoading;
  State shown_state_ = State::kError;
  std::uint64_t connection_count_ = 0;
  std::string trouble_;  // as logged last
  const Time started_;
  Time next_maintain_{};
  Time next_metrics_;
  Time next_republish_ = Time::max();
};

}  // namespace service

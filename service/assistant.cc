#include "service/assistant.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "service/log.h"

namespace service {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kOutboxLengthMax = 4096;
constexpr int kActionsMax = 256;  // of one command

std::int64_t UnixMs() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

OutboundMessage Text(std::string topic, std::string payload) {
  OutboundMessage message;
  message.topic = std::move(topic);
  message.payload = std::move(payload);
  return message;
}

engine::AllowedAnswers AllowedFrom(integrations::AllowedAnswers allowed) {
  return {std::move(allowed.heads), std::move(allowed.priors), allowed.words, allowed.ask};
}

Rejected RejectionFor(const Command& command, engine::Rejection rejection) {
  switch (rejection) {
    case engine::Rejection::kNotReady:
      return {command.id, command.reply, CommandError::kNotReady, "I am still getting ready."};
    case engine::Rejection::kBusy:
      return {command.id, command.reply, CommandError::kBusy,
              "Too many commands are waiting. Try again in a moment."};
    case engine::Rejection::kTooLong:
      return {command.id, command.reply, CommandError::kTooLong, "That is too long for me."};
  }
  return {command.id, command.reply, CommandError::kInternal, "Something went wrong."};
}

bool IsSuccess(ActionOutcome outcome) {
  return outcome == ActionOutcome::kDone || outcome == ActionOutcome::kReturned ||
         outcome == ActionOutcome::kConfirm;
}

}  // namespace

Assistant::Assistant(const AssistantOptions& options, Transport& transport,
                     CommandQueue<Inbound>& queue, CommandHistory& history,
                     const integrations::Integration& integration)
    : options_(options),
      topics_(options.topics),
      transport_(transport),
      queue_(queue),
      history_(history),
      integration_(integration),
      outbox_(transport, kOutboxLengthMax),
      actuator_(transport),
      started_(SteadyClock::now()),
      next_metrics_(started_ + options.metrics_interval) {
  outbox_.SetRetained(Text(topics_.Own("status"), "online"));
  if (!options_.discovery.topic.empty()) {
    outbox_.SetRetained(Text(options_.discovery.topic, options_.discovery.payload));
  }
  ShowState();
}

void Assistant::Enter(State state) {
  state_ = state;
  ShowState();
}

void Assistant::Serve(engine::Engine& engine, const engine::PrefixInfo& prefix) {
  engine_ = &engine;
  prefix_ = prefix;
  InfoFacts facts;
  facts.software_version = options_.software_version;
  facts.model = engine.model();
  facts.prefix = prefix;
  facts.queue_length_max = options_.queue_length_max;
  facts.utterance_bytes_max = options_.commands.utterance_bytes_max;
  facts.ttl_ms = options_.commands.ttl.count();
  facts.mode = options_.commands.mode == ActionMode::kExecute ? "execute" : "return";
  outbox_.SetRetained(Text(topics_.Own("info"), InfoText(facts)));
  Enter(State::kReady);
  PublishMetrics(SteadyClock::now());
}

Assistant::Outcome Assistant::Turn(bool may_sleep) {
  KeepConnected(SteadyClock::now());
  outbox_.Pump();
  const bool has_work = engine_ != nullptr && !engine_->Idle();
  auto taken = queue_.WaitUntil(may_sleep && !has_work ? WakeTime() : Time{});
  if (taken.Has(Signal::kConnection)) next_maintain_ = {};
  for (Inbound& inbound : taken.items) Take(std::move(inbound));
  if (engine_ != nullptr && !engine_->Idle()) {
    const engine::StepOutput output = engine_->Step(SteadyClock::now());
    for (const engine::Delta& delta : output.deltas) {
      const auto running = running_.find(delta.id);
      if (running != running_.end()) {
        outbox_.SendOrDrop(running->second.reply.Delta(delta.text));
      }
    }
    for (const engine::Completion& completion : output.completions) Finish(completion);
  }
  const Time now = SteadyClock::now();
  PollActions(now);
  if (now >= next_metrics_) PublishMetrics(now);
  if (now >= next_republish_) {
    next_republish_ = Time::max();
    outbox_.RepublishRetained();
  }
  ShowState();
  if (taken.Has(Signal::kStop)) return Outcome::kStop;
  return is_taken_over_ ? Outcome::kTakenOver : Outcome::kGoOn;
}

Assistant::Time Assistant::WakeTime() const {
  return std::min({next_maintain_, next_metrics_, next_republish_, actuator_.NextDeadline()});
}

void Assistant::KeepConnected(Time now) {
  if (now >= next_maintain_) next_maintain_ = transport_.Maintain(now);
  if (transport_.connected() && transport_.connection_count() != connection_count_) {
    connection_count_ = transport_.connection_count();
    // Before anything that says we listen.
    transport_.Subscribe(topics_.Subscriptions());
    LogEvent(LogLevel::kInfo, "connected", {{"times", connection_count_}});
  }
  const std::string trouble = transport_.trouble();
  if (trouble != trouble_ && !trouble.empty() && next_maintain_ != Time{}) {
    LogEvent(LogLevel::kWarning, "broker", {{"trouble", trouble}});
  }
  trouble_ = trouble;
}

void Assistant::Take(Inbound inbound) {
  if (const auto* command = std::get_if<Command>(&inbound)) {
    Begin(*command);
  } else if (const auto* rejected = std::get_if<Rejected>(&inbound)) {
    Reject(*rejected);
  } else if (const auto* cancellation = std::get_if<Cancellation>(&inbound)) {
    Cancel(*cancellation);
  } else if (const auto* other = std::get_if<OtherService>(&inbound)) {
    if (other->is_online) {
      is_taken_over_ = true;
    } else {
      outbox_.RepublishRetained();  // an old connection's last will, for example
    }
  } else if (const auto* ignored = std::get_if<Ignored>(&inbound)) {
    metrics_.NoteIgnored();
    LogEvent(LogLevel::kInfo, "ignored", {{"reason", ignored->reason}});
  } else {
    // Home Assistant has just started and is busy; the node's name spreads services out over 10 s.
    const auto spread = std::hash<std::string>{}(options_.topics.node) % 9000;
    next_republish_ = SteadyClock::now() + milliseconds(1000 + static_cast<int>(spread));
  }
}

// A command: known already, or to be answered by the engine.
void Assistant::Begin(const Command& command) {
  const std::int64_t unix_ms = UnixMs();
  switch (history_.Look(command.client, command.id, unix_ms)) {
    case CommandHistory::Seen::kNew:
      break;
    case CommandHistory::Seen::kRunning:  // the first one's events are its answer, too
      return metrics_.NoteDuplicate();
    case CommandHistory::Seen::kAnswered:
      metrics_.NoteDuplicate();
      return outbox_.Send(
          Reply::Again(history_.LastEvent(command.client, command.id), command.reply));
    case CommandHistory::Seen::kActedBeforeRestart:
      metrics_.NoteDuplicate();
      return Reject({command.id, command.reply, CommandError::kDuplicate,
                     "That was done before my last restart; I do not do it twice."});
  }
  if (engine_ == nullptr) return Reject(RejectionFor(command, engine::Rejection::kNotReady));
  if (SteadyClock::now() >= command.deadline) {
    return Reject(
        {command.id, command.reply, CommandError::kExpired, "The command waited too long."});
  }
  integrations::Prompt prompt = integration_.PromptFor(command.text, command.area);
  engine::Request request;
  request.id = next_key_++;
  request.utterance = std::move(prompt.request);
  request.allowed = AllowedFrom(std::move(prompt.allowed));
  request.received = command.received;
  request.deadline = command.deadline;
  const std::uint64_t key = request.id;
  const auto submitted = engine_->Submit(std::move(request));
  if (!submitted) return Reject(RejectionFor(command, submitted.error()));
  history_.NoteBegin(command.client, command.id, unix_ms);
  auto [running, is_new] =
      running_.emplace(key, Running{command, Reply(command.id, command.reply), {}, {}, 0});
  assert(is_new);
  outbox_.Send(running->second.reply.Accepted());
  LogEvent(LogLevel::kDebug, "accepted", {{"id", command.id}, {"text", command.text}});
}

void Assistant::Reject(const Rejected& rejected) {
  metrics_.NoteRejected();
  LogEvent(LogLevel::kInfo, "rejected",
           {{"id", rejected.id}, {"error", CommandErrorWord(rejected.error)}});
  outbox_.Send(Reply(rejected.id, rejected.reply).Error(rejected.error, rejected.sentence));
}

void Assistant::Cancel(const Cancellation& cancellation) {
  for (const auto& [key, running] : running_) {
    if (running.command.client != cancellation.client || running.command.id != cancellation.id) {
      continue;
    }
    // What is already on its way to a device can't be called back; its final says so.
    if (engine_ != nullptr) engine_->Cancel(key);
  }
}

// A completion: an error, a sentence, or actions that have to end first.
void Assistant::Finish(const engine::Completion& completion) {
  const auto found = running_.find(completion.id);
  assert(found != running_.end());
  Running& running = found->second;
  metrics_.NoteCompletion(completion, prefix_.tokens, UnixMs());
  FinalReply& final_reply = running.final_reply;
  final_reply.finish = "complete";
  final_reply.usage = completion.usage;
  final_reply.queue_ms = completion.queue_ms;
  final_reply.ttft_ms = completion.ttft_ms;
  final_reply.total_ms = completion.total_ms;
  final_reply.prefix_version = completion.prefix_version;
  final_reply.prefix_tokens = prefix_.tokens;
  switch (completion.finish) {
    case engine::FinishReason::kComplete:
      break;
    case engine::FinishReason::kTimeout:
      return Fail(completion.id, CommandError::kTimeout, "That took me too long.");
    case engine::FinishReason::kNoRoom:
      return Fail(completion.id, CommandError::kInternal, "My answer did not fit.");
    case engine::FinishReason::kCancelled:
      final_reply.finish = "cancelled";
      running.sentence = "Cancelled.";
      return Complete(completion.id);
  }
  const integrations::Answer answer = integration_.AnswerFrom(
      running.command.text, running.command.area, completion.answer_index, completion.text);
  if (answer.kind == integrations::Answer::Kind::kInvalid) {
    return Fail(completion.id, CommandError::kInternal, answer.sentence);
  }
  if (answer.kind == integrations::Answer::Kind::kAsk) final_reply.finish = "ask";
  running.sentence = answer.sentence;
  Act(completion.id, running, answer);
  if (running.actions_under_way == 0) Complete(completion.id);
}

// Starts what may be done and notes what may not.
void Assistant::Act(std::uint64_t key, Running& running, const integrations::Answer& answer) {
  const bool executes = running.command.mode == ActionMode::kExecute;
  for (const integrations::Action& action : answer.actions) {
    const std::size_t index = running.final_reply.actions.size();
    if (index >= kActionsMax) break;
    ActionOutcome outcome = ActionOutcome::kDenied;
    if (action.status == integrations::ActionStatus::kConfirm) {
      outcome = ActionOutcome::kConfirm;
      outbox_.Send(running.reply.Confirm(action, answer.sentence));
    } else if (action.status == integrations::ActionStatus::kAllowed) {
      outbox_.Send(running.reply.Call(action));
      outcome = !executes                      ? ActionOutcome::kReturned
                : action.message.topic.empty() ? ActionOutcome::kUnreachable
                                               : ActionOutcome::kDone;
      if (outcome == ActionOutcome::kDone) {
        ++running.actions_under_way;
        if (!running.command.is_ask) {
          history_.NoteActing(running.command.client, running.command.id, UnixMs());
        }
        actuator_.Start(key * kActionsMax + index, action.message, running.command.deadline);
      }
    } else {
      metrics_.NoteDenied();
    }
    running.final_reply.actions.push_back(action);
    running.final_reply.outcomes.push_back(outcome);
  }
}

void Assistant::PollActions(Time now) {
  for (const Actuator::Ended& ended : actuator_.Poll(now)) {
    const std::uint64_t key = ended.key / kActionsMax;
    const auto found = running_.find(key);
    assert(found != running_.end());
    found->second.final_reply.outcomes[ended.key % kActionsMax] = ended.outcome;
    if (--found->second.actions_under_way == 0) Complete(key);
  }
}

// All actions have ended: the sentence may be said.
void Assistant::Complete(std::uint64_t key) {
  Running& running = running_.at(key);
  FinalReply& final_reply = running.final_reply;
  final_reply.text = running.sentence;
  for (std::size_t i = 0; i < final_reply.actions.size(); ++i) {
    const ActionOutcome outcome = final_reply.outcomes[i];
    if (outcome == ActionOutcome::kDone || outcome == ActionOutcome::kDenied) {
      outbox_.SendOrDrop(
          Text(topics_.Own(outcome == ActionOutcome::kDone ? "event/executed" : "event/denied"),
               ActionEvent(final_reply.actions[i], outcome)));
    }
    if (!IsSuccess(outcome))
      final_reply.text = integration_.FailureSentence(final_reply.actions[i]);
  }
  if (final_reply.text.empty()) final_reply.text = "I have no answer to that.";
  End(key, running.reply.Final(final_reply));
}

void Assistant::Fail(std::uint64_t key, CommandError error, const std::string& sentence) {
  metrics_.NoteFailed();
  End(key, running_.at(key).reply.Error(error, sentence));
}

void Assistant::End(std::uint64_t key, OutboundMessage last_event) {
  const auto found = running_.find(key);
  assert(found != running_.end());
  const Running& running = found->second;
  const auto& usage = running.final_reply.usage;
  LogEvent(LogLevel::kInfo, "command",
           {{"id", running.command.id},
            {"prompt", usage.prompt},
            {"reused", usage.reused},
            {"prefilled", usage.prefilled},
            {"generated", usage.generated},
            {"ttft_ms", running.final_reply.ttft_ms},
            {"total_ms", running.final_reply.total_ms}});
  if (running.command.is_ask && !running.final_reply.text.empty()) {
    outbox_.Send(Text(topics_.Own("say"), running.final_reply.text));
  }
  history_.NoteEnd(running.command.client, running.command.id, last_event.payload);
  outbox_.Send(std::move(last_event));
  running_.erase(found);
  PublishMetrics(SteadyClock::now());
}

void Assistant::PublishMetrics(Time now) {
  next_metrics_ = now + options_.metrics_interval;
  if (engine_ == nullptr) return;
  Metrics::Facts facts;
  facts.state = StateWord(state_);
  facts.model = engine_->model().name;
  facts.prefix_version = prefix_.version;
  facts.prefix_tokens = prefix_.tokens;
  facts.warm_seconds = prefix_.warm_seconds;
  facts.dropped = outbox_.dropped_count();
  facts.uptime_seconds = std::chrono::duration<double>(now - started_).count();
  facts.engine = engine_->stats();
  OutboundMessage message = Text(topics_.Own("metrics"), metrics_.Snapshot(facts));
  message.qos = 0;
  outbox_.SendOrDrop(std::move(message));
}

void Assistant::ShowState() {
  const bool is_full = running_.size() >= static_cast<std::size_t>(options_.queue_length_max);
  if (state_ == State::kReady || state_ == State::kBusy) {
    state_ = is_full ? State::kBusy : State::kReady;
  }
  if (state_ == shown_state_) return;
  shown_state_ = state_;
  outbox_.SetRetained(Text(topics_.Own("state"), std::string(StateWord(state_))));
  LogEvent(LogLevel::kInfo, "state", {{"state", StateWord(state_)}});
}

void Assistant::Stop(milliseconds patience) {
  while (!running_.empty()) {
    Fail(running_.begin()->first, CommandError::kNotReady, "I am being switched off.");
  }
  for (const Inbound& inbound : queue_.WaitUntil(Time{}).items) {
    if (const auto* command = std::get_if<Command>(&inbound)) {
      Reject({command->id, command->reply, CommandError::kNotReady, "I am being switched off."});
    }
  }
  if (!is_taken_over_) outbox_.SetRetained(Text(topics_.Own("status"), "offline"));
  outbox_.Pump();
  transport_.Close(patience);
}

}  // namespace service

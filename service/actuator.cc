#include "service/actuator.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace service {

void Actuator::Start(std::uint64_t key, const integrations::Message& message, Time deadline) {
  Pending pending;
  pending.key = key;
  pending.message.topic = message.topic;
  pending.message.payload = message.payload;
  pending.message.retained = message.retained;
  pending.deadline = deadline;
  pending_.push_back(std::move(pending));
}

std::vector<Actuator::Ended> Actuator::Poll(Time now) {
  std::vector<Ended> ended;
  std::erase_if(pending_, [&](Pending& pending) {
    std::optional<ActionOutcome> outcome;
    if (pending.id == kNotPublished && now < pending.deadline) {
      pending.id = transport_.Publish(pending.message);
      pending.connection = transport_.connection_count();
    }
    if (pending.id == kNotPublished) {
      if (now >= pending.deadline) outcome = ActionOutcome::kFailed;
    } else if (transport_.Acknowledged(pending.id)) {
      outcome = ActionOutcome::kDone;
    } else if (!transport_.connected() || transport_.connection_count() != pending.connection ||
               now >= pending.deadline) {
      outcome = ActionOutcome::kUnknown;
    }
    if (outcome) ended.push_back({pending.key, *outcome});
    return outcome.has_value();
  });
  return ended;
}

Actuator::Time Actuator::NextDeadline() const {
  Time next = Time::max();
  for (const Pending& pending : pending_) next = std::min(next, pending.deadline);
  return next;
}

}  // namespace service

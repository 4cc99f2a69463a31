#include "service/outbox.h"

#include <cassert>
#include <utility>

namespace service {

Outbox::Outbox(Transport& transport, std::size_t length_max)
    : transport_(transport), length_max_(length_max) {
  assert(length_max > 0);
}

void Outbox::Send(OutboundMessage message) {
  assert(message.qos >= 1);
  if (waiting_.size() >= length_max_) {
    waiting_.pop_front();
    ++dropped_count_;
  }
  waiting_.push_back({std::move(message), kNotPublished});
  Pump();
}

void Outbox::SendOrDrop(OutboundMessage message) {
  if (!transport_.connected()) return;
  if (transport_.Publish(message) == kNotPublished) ++dropped_count_;
}

void Outbox::SetRetained(OutboundMessage message) {
  message.retained = true;
  const std::string topic = message.topic;
  retained_[topic] = {std::move(message), kNotPublished};
  Pump();
}

void Outbox::Pump() {
  if (!transport_.connected()) return;
  if (transport_.connection_count() != connection_count_) {
    connection_count_ = transport_.connection_count();
    for (Waiting& waiting : waiting_) waiting.id = kNotPublished;
    RepublishRetained();
  }
  for (auto& [topic, waiting] : retained_) {
    if (waiting.id == kNotPublished) waiting.id = transport_.Publish(waiting.message);
  }
  std::erase_if(waiting_, [this](const Waiting& waiting) {
    return waiting.id != kNotPublished && transport_.Acknowledged(waiting.id);
  });
  for (Waiting& waiting : waiting_) {
    if (waiting.id != kNotPublished) continue;
    waiting.id = transport_.Publish(waiting.message);
    if (waiting.id == kNotPublished) break;  // no room now: keep the order, go on at the next call
  }
}

void Outbox::RepublishRetained() {
  for (auto& [topic, waiting] : retained_) waiting.id = kNotPublished;
}

}  // namespace service

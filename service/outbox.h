// What is to be published, kept until the broker has it.
//
// A transport forgets what a lost connection loses. The outbox does not: retained topics keep their
// last value and are published again on every new connection; messages that must arrive (accepted,
// call, confirm, final, error) stay here until they are acknowledged and are published again, in
// their order, on the next connection. So a message may arrive twice, and never not at all. What
// may be lost (delta, metrics) is dropped when there is no connection.
//
// Thread: the engine thread.
// Limit: length_max kept messages; beyond it the oldest is dropped and counted (this needs more
// commands than the queues let in).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "service/transport.h"

namespace service {

class Outbox {
 public:
  Outbox(Transport& transport, std::size_t length_max);

  // Must arrive.
  void Send(OutboundMessage message);
  // May be lost; never kept.
  void SendOrDrop(OutboundMessage message);
  // The last value of a retained topic.
  void SetRetained(OutboundMessage message);

  // Forgets what was acknowledged, sends what waits. After a new connection: sends all again.
  void Pump();
  // Publishes the retained topics again.
  void RepublishRetained();

  std::size_t waiting_count() const { return waiting_.size(); }
  std::uint64_t dropped_count() const { return dropped_count_; }

 private:
  struct Waiting {
    OutboundMessage message;
    PublishId id = kNotPublished;
  };

  Transport& transport_;
  const std::size_t length_max_;
  std::uint64_t connection_count_ = 0;
  std::deque<Waiting> waiting_;  // those with an id come first, except after a new connection
  std::map<std::string, Waiting> retained_;
  std::uint64_t dropped_count_ = 0;
};

}  // namespace service

// Sends the messages of actions to devices, each at most once, and tells how each one ended.
//
// The broker's acknowledgement is what makes an action done; the sentence to say waits for it. With
// no connection an action waits for one, until its deadline. If the connection is lost, or the
// deadline passes, while a message is on its way, nobody can know whether the device got it: it is
// not sent again (a "next track" would skip twice), and the outcome is unknown.
//
// Thread: the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "integrations/integration.h"
#include "service/reply.h"
#include "service/transport.h"

namespace service {

class Actuator {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Actuator(Transport& transport) : transport_(transport) {}

  void Start(std::uint64_t key, const integrations::Message& message, Time deadline);

  struct Ended {
    std::uint64_t key = 0;
    ActionOutcome outcome = ActionOutcome::kDone;  // kDone, kFailed or kUnknown
  };
  // Sends what waits. Returns: the actions that ended since the last call.
  std::vector<Ended> Poll(Time now);
  // When to poll again if nothing else happens.
  Time NextDeadline() const;
  bool idle() const { return pending_.empty(); }

 private:
  struct Pending {
    std::uint64_t key = 0;
    OutboundMessage message;
    Time deadline;
    PublishId id = kNotPublished;
    std::uint64_t connection = 0;
  };

  Transport& transport_;
  std::vector<Pending> pending_;
};

}  // namespace service

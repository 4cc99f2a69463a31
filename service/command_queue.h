// The hand-over from the MQTT threads to the engine thread: the only mutex in the program.
//
// Bounded. A full queue is an answer ("busy"), not an error: the pusher turns the command into a
// rejection and pushes that into the reserve, so that the sender is told. Facts that carry nothing
// but "it happened" (connected, acknowledged, stop) are signals: a set of bits that never fills up.
// The engine thread sleeps here when there is nothing to do, and then uses no CPU.
//
// Thread: TryPush, TryPushReserved and Raise from any; WaitUntil from the engine thread only.
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace service {

enum class Signal : std::uint32_t {
  kConnection = 1,    // the connection to the broker came, went or failed
  kAcknowledged = 2,  // the broker has taken something that was published
  kStop = 4,          // end in an orderly way
};

template <typename Item>
class CommandQueue {
 public:
  struct Taken {
    std::vector<Item> items;  // in the order of arrival
    std::uint32_t signals = 0;
    bool Has(Signal signal) const { return (signals & static_cast<std::uint32_t>(signal)) != 0; }
  };

  // Limit: length_max items from TryPush and reserve_max from TryPushReserved.
  CommandQueue(std::size_t length_max, std::size_t reserve_max)
      : length_max_(length_max), reserve_max_(reserve_max) {
    assert(length_max > 0);
  }

  // Returns: false when full; nothing was pushed.
  [[nodiscard]] bool TryPush(Item item) { return Push(std::move(item), length_, length_max_); }
  [[nodiscard]] bool TryPushReserved(Item item) {
    return Push(std::move(item), reserve_, reserve_max_);
  }

  void Raise(Signal signal) {
    {
      const std::lock_guard lock(mutex_);
      signals_ |= static_cast<std::uint32_t>(signal);
    }
    arrived_.notify_one();
  }

  // Takes all that waits; sleeps until there is something or the time has come. A time in the past
  // does not sleep.
  Taken WaitUntil(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, until, [this] { return !items_.empty() || signals_ != 0; });
    Taken taken;
    taken.items.reserve(items_.size());
    for (Item& item : items_) taken.items.push_back(std::move(item));
    items_.clear();
    length_ = 0;
    reserve_ = 0;
    taken.signals = std::exchange(signals_, 0);
    return taken;
  }

 private:
  bool Push(Item item, std::size_t& count, std::size_t count_max) {
    {
      const std::lock_guard lock(mutex_);
      if (count >= count_max) return false;
      ++count;
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
    return true;
  }

  const std::size_t length_max_;
  const std::size_t reserve_max_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Item> items_;
  std::size_t length_ = 0;
  std::size_t reserve_ = 0;
  std::uint32_t signals_ = 0;
};

}  // namespace service

// Bytes as a payload on each topic that takes one: whatever comes, it is a command that keeps its
// limits, or why not.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/unicode.h"
#include "service/command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const service::CommandReader kReader(service::Topics({}), {});
  service::InboundMessage message;
  message.payload.assign(reinterpret_cast<const char*>(bytes), size);
  message.response_topic = message.payload.substr(0, 40);
  message.received = std::chrono::steady_clock::now();
  message.received_unix_ms = 1'700'000'000'000;
  for (const char* topic : {"inglenook/home/request/kiosk", "inglenook/home/ask"}) {
    message.topic = topic;
    const service::Inbound inbound = kReader.Read(message);
    const auto* command = std::get_if<service::Command>(&inbound);
    if (command == nullptr) {
      assert(!std::get<service::Rejected>(inbound).sentence.empty());
      continue;
    }
    assert(service::IsCommandId(command->id));
    assert(!command->text.empty());
    assert(command->text.find('\n') == std::string::npos);
    assert(engine::IsValidUtf8(command->text));
    assert(command->deadline > command->received);
  }
  message.topic = message.payload;
  (void)kReader.Read(message);
  return 0;
}

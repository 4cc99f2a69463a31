#include "service/topics.h"

#include <algorithm>
#include <cassert>

namespace service {
namespace {

constexpr std::size_t kTopicBytesMax = 256;

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// Takes the text up to the next '/' (or all) off the front.
std::string_view TakeLevel(std::string_view& rest) {
  const std::string_view level = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), level.size() + 1));
  return level;
}

}  // namespace

bool IsTopicName(std::string_view text) {
  return !text.empty() && text.size() <= kTopicNameBytesMax &&
         std::all_of(text.begin(), text.end(), IsNameByte);
}

bool IsCommandId(std::string_view text) {
  return !text.empty() && text.size() <= kTopicNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsNameByte(c) || c == ':'; });
}

Topics::Topics(const Options& options)
    : root_(options.base + "/" + options.node + "/"),
      home_assistant_root_(options.home_assistant_prefix + "/"),
      response_prefixes_(options.response_prefixes) {
  assert(IsTopicName(options.base));
  assert(IsTopicName(options.node));
}

std::string Topics::Request(std::string_view client) const {
  return root_ + "request/" + std::string(client);
}

std::string Topics::Response(std::string_view client, std::string_view id) const {
  return root_ + "response/" + std::string(client) + "/" + std::string(id);
}

std::string Topics::Cancel(std::string_view client, std::string_view id) const {
  return root_ + "cancel/" + std::string(client) + "/" + std::string(id);
}

std::vector<std::string> Topics::Subscriptions() const {
  return {Own("request/+"), Own("ask"), Own("cancel/+/+"), Own("status"),
          home_assistant_root_ + "status"};
}

Topics::Meaning Topics::Read(std::string_view topic) const {
  if (topic == home_assistant_root_ + "status") return {Kind::kHomeAssistantStatus, {}, {}};
  if (!topic.starts_with(root_)) return {};
  std::string_view rest = topic.substr(root_.size());
  const std::string_view name = TakeLevel(rest);
  if (name == "status" && rest.empty()) return {Kind::kOwnStatus, {}, {}};
  if (name == "ask" && rest.empty()) return {Kind::kAsk, "ask", {}};
  const std::string_view client = TakeLevel(rest);
  if (!IsTopicName(client)) return {};
  if (name == "request" && rest.empty()) return {Kind::kRequest, std::string(client), {}};
  if (name == "cancel" && IsCommandId(rest)) {
    return {Kind::kCancel, std::string(client), std::string(rest)};
  }
  return {};
}

bool Topics::MayRespondTo(std::string_view topic, std::string_view client) const {
  if (topic.size() > kTopicBytesMax || topic.starts_with('$')) return false;
  for (const char c : topic) {
    if (c == '+' || c == '#' || static_cast<unsigned char>(c) < 0x20) return false;
  }
  const std::string own = root_ + "response/";
  if (topic.starts_with(own)) return topic.size() > own.size();
  if (topic.starts_with(root_) || topic.starts_with(home_assistant_root_)) return false;
  return std::any_of(response_prefixes_.begin(), response_prefixes_.end(), [&](std::string prefix) {
    constexpr std::string_view kClient = "{client}";
    const std::size_t at = prefix.find(kClient);
    if (at != std::string::npos) prefix.replace(at, kClient.size(), client);
    return !prefix.empty() && topic.starts_with(prefix) && topic.size() > prefix.size();
  });
}

}  // namespace service

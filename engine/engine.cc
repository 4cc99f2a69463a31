#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cache/kv_cache.h"
#include "engine/chat_template.h"
#include "engine/gguf_file.h"
#include "engine/mapped_file.h"
#include "engine/model_config.h"
#include "engine/model_weights.h"
#include "engine/prompt.h"
#include "engine/scheduler.h"
#include "engine/token_trie.h"
#include "engine/tokenizer.h"
#include "engine/transformer.h"
#include "kernels/isa.h"
#include "kernels/parallel.h"

namespace engine {
namespace {

// Used where neither the options nor the model ask for less; bounds the scratch memory.
constexpr int kContextTokensDefault = 8192;
constexpr int kStepRowsMax = 64;

TokenTrie TrieOf(const Tokenizer& tokenizer, TokenId end) {
  std::vector<TokenTrie::Entry> entries;
  for (int i = 0; i < tokenizer.token_count(); ++i) {
    const TokenId token{i};
    if (tokenizer.IsPlain(token)) entries.push_back({token, tokenizer.TokenBytes(token)});
  }
  return TokenTrie(entries, {&end, 1});
}

}  // namespace

// Everything the engine owns, in the order of dependence.
struct Engine::Parts {
  EngineOptions options;
  ModelInfo model;
  ModelConfig config;
  std::unique_ptr<kernels::Team> team;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<TokenTrie> trie;
  std::unique_ptr<ModelWeights> weights;
  std::unique_ptr<Transformer> transformer;
  std::unique_ptr<cache::KvCache> cache;  // from the first SetPrefix on
  std::unique_ptr<CatalogAutomaton> automaton;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<TokenId> prefix;
  std::uint32_t generation = 0;  // of the pinned prefix; 0: none

  // The longest request part and answer.
  int request_tokens_max() const {
    std::vector<TokenId> around;
    EncodeRequest(*tokenizer, *chat_template, "", around);
    return options.utterance_tokens_max + static_cast<int>(around.size()) +
           options.answer_tokens_max;
  }
  std::expected<void, std::string> CheckContext(int prefix_tokens) const;
  std::expected<void, std::string> CreateCache(int prefix_tokens);
  std::expected<void, std::string> CheckCache(int prefix_tokens) const;
  std::expected<void, std::string> Warm(const std::vector<TokenId>& tokens,
                                        const Progress& progress);
};

std::expected<void, std::string> Engine::Parts::CheckContext(int prefix_tokens) const {
  const int worst = prefix_tokens + request_tokens_max();
  if (worst <= model.context_tokens_max) return {};
  return std::unexpected(
      "the prefix has " + std::to_string(prefix_tokens) + " tokens and the longest command with " +
      "its answer takes " + std::to_string(request_tokens_max()) + ": together " +
      std::to_string(worst - model.context_tokens_max) + " tokens more than the context of " +
      std::to_string(model.context_tokens_max) +
      "; shorten policy.yaml or house.yaml, lower engine.utterance_tokens_max or " +
      "engine.answer_tokens_max, or use a model with a longer context");
}

// Two prefixes (the current one and one being built) and one worst-case command computed cold.
std::expected<void, std::string> Engine::Parts::CreateCache(int prefix_tokens) {
  const std::uint64_t block_bytes = transformer->kv_layout().block_bytes();
  const int worst = cache::BlocksFor(prefix_tokens + request_tokens_max());
  const int needed = 2 * cache::BlocksFor(prefix_tokens) + worst;
  int blocks = needed;
  if (options.kv_pool_bytes > 0) {
    blocks = static_cast<int>(
        std::min<std::uint64_t>(options.kv_pool_bytes / block_bytes, std::uint64_t{1} << 24));
  }
  if (blocks < needed) {
    return std::unexpected("engine.kv_pool_bytes is " + std::to_string(options.kv_pool_bytes) +
                           ", but two prefixes and the longest command take " +
                           std::to_string(static_cast<std::uint64_t>(needed) * block_bytes) +
                           " bytes; raise it, or leave it out to have it computed");
  }
  auto created = cache::KvCache::Create({transformer->kv_layout(), blocks});
  if (!created) return std::unexpected("engine.kv_pool_bytes: " + created.error());
  cache = std::make_unique<cache::KvCache>(std::move(*created));
  scheduler = std::make_unique<Scheduler>(
      *transformer, *cache, *trie,
      Scheduler::Limits{options.queue_length_max, options.answer_tokens_max});
  return {};
}

// A later prefix may be longer than the one that the pool was made for. A command shares its whole
// blocks and copies the last one when that is partly filled.
std::expected<void, std::string> Engine::Parts::CheckCache(int prefix_tokens) const {
  const int copied = prefix_tokens % cache::KvLayout::kBlockTokens == 0 ? 0 : 1;
  const int needed = cache::BlocksFor(prefix_tokens + request_tokens_max()) + copied;
  const int blocks = cache->stats().blocks_total;
  if (needed <= blocks) return {};
  return std::unexpected("the prefix of " + std::to_string(prefix_tokens) +
                         " tokens and the longest command take " + std::to_string(needed) +
                         " blocks of keys and values, but the pool has " + std::to_string(blocks) +
                         "; raise engine.kv_pool_bytes, or start anew");
}

// Computes what the cache lacks of the prefix and pins it; then lets the earlier one go.
std::expected<void, std::string> Engine::Parts::Warm(const std::vector<TokenId>& tokens,
                                                     const Progress& progress) {
  auto blocks = cache->MatchAndReserve(tokens, 0, {});
  if (!blocks) {
    return std::unexpected(
        "the pool of keys and values has no room for the prefix beside the one in use; raise "
        "engine.kv_pool_bytes");
  }
  std::vector<std::byte*> bases;
  for (const cache::BlockId block : blocks->ids()) bases.push_back(cache->BlockBase(block));
  Prefill(*transformer, tokens, blocks->reused_tokens(), bases, progress);
  cache->Pin(std::move(*blocks), tokens, generation + 1);
  if (generation > 0) cache->Unpin(generation);
  ++generation;
  return {};
}

std::expected<std::unique_ptr<Engine>, std::string> Engine::Load(const EngineOptions& options,
                                                                 const Progress& progress) {
  const auto isa = kernels::SelectIsa();
  if (!isa) return std::unexpected(isa.error());
  auto mapped = MappedFile::Open(options.model_path);
  if (!mapped) return std::unexpected(mapped.error());
  const auto file = GgufFile::Parse(mapped->bytes(), options.model_path);
  if (!file) return std::unexpected(file.error());
  auto config = ModelConfig::From(*file);
  if (!config) return std::unexpected(config.error());
  auto tokenizer = Tokenizer::From(*file);
  if (!tokenizer) return std::unexpected(tokenizer.error());

  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->config = *config;
  parts->tokenizer = std::make_unique<Tokenizer>(std::move(*tokenizer));
  auto chat_template = ChatTemplate::From(*file, *parts->tokenizer, options.chat_template);
  if (!chat_template) return std::unexpected(chat_template.error());
  parts->chat_template = std::make_unique<ChatTemplate>(std::move(*chat_template));
  parts->trie =
      std::make_unique<TokenTrie>(TrieOf(*parts->tokenizer, parts->chat_template->end_of_turn()));
  const int workers = options.workers > 0 ? options.workers : kernels::UsableCores();
  parts->team = std::make_unique<kernels::Team>(workers);
  auto weights = ModelWeights::Pack(*file, *config, *parts->team, [&](double fraction) {
    if (progress) progress("model", fraction);
  });
  if (!weights) return std::unexpected(weights.error());
  parts->weights = std::make_unique<ModelWeights>(std::move(*weights));

  const int context_wanted =
      options.context_tokens_max > 0 ? options.context_tokens_max : kContextTokensDefault;
  const int context = std::min(context_wanted, config->context_tokens_max);
  auto transformer =
      Transformer::Create(*config, *parts->weights, {kStepRowsMax, 1, context}, *parts->team);
  if (!transformer) return std::unexpected(transformer.error());
  parts->transformer = std::move(*transformer);
  parts->model = {config->name, config->architecture,   std::string(*isa), workers,
                  context,      parts->weights->bytes()};
  return std::unique_ptr<Engine>(new Engine(std::move(parts)));
}

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

std::expected<PrefixInfo, std::string> Engine::SetPrefix(const PrefixSource& source,
                                                         AnswerLanguage language,
                                                         const Progress& progress) {
  assert(Idle());
  auto info = CheckPrefix(source);
  if (!info) return info;
  auto automaton = CatalogAutomaton::Compile(std::move(language));
  if (!automaton) return std::unexpected(automaton.error());
  const std::string unspellable = CheckSpellable(*automaton, *parts_->trie);
  if (!unspellable.empty()) return std::unexpected(unspellable);

  TokenizedPrefix prefix = EncodePrefix(*parts_->tokenizer, *parts_->chat_template, source);
  const auto has_room = parts_->cache == nullptr ? parts_->CreateCache(info->tokens)
                                                 : parts_->CheckCache(info->tokens);
  if (!has_room) return std::unexpected(has_room.error());
  const auto start = Clock::now();
  const auto warmed = parts_->Warm(prefix.tokens, progress);
  if (!warmed) return std::unexpected(warmed.error());
  info->warm_seconds = std::chrono::duration<double>(Clock::now() - start).count();

  auto compiled = std::make_unique<CatalogAutomaton>(std::move(*automaton));
  parts_->scheduler->SetLanguage(compiled.get(), info->version);
  parts_->automaton = std::move(compiled);
  parts_->prefix = std::move(prefix.tokens);
  return info;
}

std::expected<PrefixInfo, std::string> Engine::CheckPrefix(const PrefixSource& source) const {
  const TokenizedPrefix prefix = EncodePrefix(*parts_->tokenizer, *parts_->chat_template, source);
  PrefixInfo info;
  info.tokens = static_cast<int>(prefix.tokens.size());
  info.version = PrefixVersion(source.versions, prefix.tokens);
  info.sections = prefix.sections;
  const auto fits = parts_->CheckContext(info.tokens);
  if (!fits) return std::unexpected(fits.error());
  return info;
}

std::string Engine::RenderPrefix(const PrefixSource& source) const {
  std::string text;
  const TokenizedPrefix prefix = EncodePrefix(*parts_->tokenizer, *parts_->chat_template, source);
  for (const TokenId token : prefix.tokens) text += parts_->tokenizer->TokenBytes(token);
  return text;
}

std::vector<std::int32_t> Engine::PrefixTokens(const PrefixSource& source) const {
  std::vector<std::int32_t> ids;
  for (const TokenId token :
       EncodePrefix(*parts_->tokenizer, *parts_->chat_template, source).tokens) {
    ids.push_back(static_cast<std::int32_t>(token));
  }
  return ids;
}

std::expected<void, Rejection> Engine::Submit(Request request) {
  if (parts_->generation == 0) return std::unexpected(Rejection::kNotReady);
  std::vector<TokenId> utterance;
  parts_->tokenizer->Encode(request.utterance, utterance);
  if (static_cast<int>(utterance.size()) > parts_->options.utterance_tokens_max) {
    return std::unexpected(Rejection::kTooLong);
  }
  std::vector<TokenId> prompt = parts_->prefix;
  EncodeRequest(*parts_->tokenizer, *parts_->chat_template, request.utterance, prompt);
  return parts_->scheduler->Submit(std::move(request), std::move(prompt));
}

bool Engine::Cancel(std::uint64_t id) {
  return parts_->scheduler != nullptr && parts_->scheduler->Cancel(id);
}

bool Engine::Idle() const { return parts_->scheduler == nullptr || parts_->scheduler->Idle(); }

StepOutput Engine::Step(Clock::time_point now) {
  return parts_->scheduler == nullptr ? StepOutput{} : parts_->scheduler->Step(now);
}

EngineStats Engine::stats() const {
  EngineStats stats;
  if (parts_->cache != nullptr) {
    const cache::Stats cache = parts_->cache->stats();
    const std::uint64_t bytes = parts_->transformer->kv_layout().block_bytes();
    stats.kv_bytes_total = static_cast<std::uint64_t>(cache.blocks_total) * bytes;
    stats.kv_bytes_pinned = static_cast<std::uint64_t>(cache.blocks_pinned) * bytes;
    stats.kv_bytes_shared = static_cast<std::uint64_t>(cache.blocks_shared) * bytes;
    stats.kv_bytes_kept = static_cast<std::uint64_t>(cache.blocks_kept) * bytes;
    stats.kv_bytes_free = static_cast<std::uint64_t>(cache.blocks_free) * bytes;
    stats.evictions = cache.evictions;
    stats.lookups = cache.lookups;
    stats.hits = cache.hits;
    stats.tokens_asked = cache.query_tokens;
    stats.tokens_reused = cache.hit_tokens;
  }
  stats.rows_computed = parts_->transformer->rows_computed();
  if (parts_->scheduler != nullptr) stats.queue_length = parts_->scheduler->queue_length();
  return stats;
}

const ModelInfo& Engine::model() const { return parts_->model; }

}  // namespace engine

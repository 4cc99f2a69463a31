// One entry of the model's vocabulary; the cache's type under the engine's name.
#pragma once

#include "cache/token_id.h"

namespace engine {

using cache::TokenId;

}  // namespace engine

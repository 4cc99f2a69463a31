// Where files of the service live: the only place in service/ that asks the environment, apart from
// main.cc. A folder that is needed is made, for this user alone.
#pragma once

#include <string>

namespace service {

// Model files: $INGLENOOK_MODELS, or inglenook/models in $XDG_CACHE_HOME or ~/.cache.
std::string ModelsFolder();

// What has to outlive a restart: $STATE_DIRECTORY (systemd), or inglenook in $XDG_STATE_HOME or
// ~/.local/state. Made when it is missing.
std::string StateFolder();

// What lives as long as the service: inglenook in $XDG_RUNTIME_DIR, or run in the state folder.
// Made when it is missing.
std::string RuntimeFolder();

// A program on $PATH, or where system programs live (a user's $PATH often lacks that); empty when
// there is none.
std::string FindProgram(const std::string& name);

}  // namespace service

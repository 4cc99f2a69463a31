// The settings of the OpenMP team, which must exist before its runtime loads, and which cores the
// threads of the program may run on.
//
// The runtime binds the first thread to one core as soon as it loads, and every thread that is
// started later inherits that. So the program first gives the cores back (UseAllCores), starts the
// threads of the transport and counts cores for the team, and only then returns the engine thread
// to its own core (UseOwnCore).
//
// Thread: the first one.
#pragma once

namespace service {

// Sets the variables and runs the program again, once. Variables that are set already stay. Returns
// in the second run, or when running again is not possible.
void StartWithTeamSettings(char** arguments);

void UseAllCores();
void UseOwnCore();

}  // namespace service

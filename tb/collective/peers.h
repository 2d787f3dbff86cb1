// What peers.cpp and checker.cpp share.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

[[noreturn]] void collective_die(const std::string &message);

// Adds one line to the events of the run.
void collective_report(const std::string &line);

// Forgets the links of the run before; depths of the replay buffer and of the receive buffer of each
// of the virtual channels.
void collective_checker_begin(int64_t replay_depth, int64_t receive_depth, int channels);

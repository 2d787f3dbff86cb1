// What peers.cpp and checker.cpp share.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

[[noreturn]] void collective_die(const std::string &message);

// Adds one line to the events of the run.
void collective_report(const std::string &line);

// Forgets the links of the run before; depths of the replay and the receive buffers.
void collective_checker_begin(int64_t replay_depth, int64_t receive_depth);

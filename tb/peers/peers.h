// What the parts of the peers library share: how a part takes its lines of a run and leaves results.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace recspeed {

// Ends the simulation with one line that the toolchain finds in the log.
[[noreturn]] void die(const std::string &message);

// Adds a line to the events of the run.
void report(const std::string &line);

// A part of the library: one of these per file, at namespace scope, so that session.cpp knows it.
struct Part {
    using Line = std::function<void(std::istringstream &words, const std::string &folder)>;

    // `clear` forgets the run before; `lines` are the kinds of lines of run.txt that the part takes,
    // each with what reads the rest of it; `store` leaves results in the folder of the run.
    Part(std::function<void()> clear, std::map<std::string, Line> lines,
         std::function<void(const std::string &folder)> store = {});

    std::function<void()> clear;
    std::map<std::string, Line> lines;
    std::function<void(const std::string &folder)> store;
};

// The whole of a binary file as records.
template <typename T>
std::vector<T> read_all(const std::string &path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) die("cannot read " + path);
    std::vector<T> data(static_cast<size_t>(file.tellg()) / sizeof(T));
    file.seekg(0);
    file.read(reinterpret_cast<char *>(data.data()),
              static_cast<std::streamsize>(data.size() * sizeof(T)));
    return data;
}

// Writes records as a binary file.
template <typename T>
void write_all(const std::string &path, const std::vector<T> &data) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(T)));
    file.close();
    if (!file) die("cannot write " + path);
}

// A word of hashed contents, as models/spec/hashed_contents.py writes it down.
inline uint64_t hashed_word(uint64_t seed, uint64_t word) {
    uint64_t x = (word + seed * 0xA0761D6478BD642FULL) * 0x9E3779B97F4A7C15ULL;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ULL;
    x ^= x >> 32;
    const uint64_t exponents = x & 0x7C007C007C007C00ULL;
    for (int shift = 0; shift < 64; shift += 16)
        if (((exponents >> shift) & 0x7C00) == 0x7C00) x &= ~(0x4000ULL << shift);
    return x;
}

}  // namespace recspeed

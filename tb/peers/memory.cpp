// The buffers of chips: the C++ side of memory.sv.

#include "peers.h"

#include <cstring>

#include "svdpi.h"

namespace {

using namespace recspeed;

constexpr size_t kLineBytes = 64;

struct Memory {
    std::vector<uint8_t> bytes;
    std::vector<uint8_t> writes;  // of each line
    int rate = 0;
    int64_t stall_from = INT64_MAX;
    int64_t stall_to = INT64_MAX;
};

std::vector<Memory> memories;

void clear() { memories.clear(); }

void read_memory(std::istringstream &words, const std::string &folder) {
    size_t chip = 0;
    words >> chip;
    if (chip != memories.size()) die("memories are not in the order of their chips");
    Memory memory;
    memory.bytes = read_all<uint8_t>(folder + "memory_" + std::to_string(chip) + ".bin");
    memory.writes.assign(memory.bytes.size() / kLineBytes, 0);
    memories.push_back(memory);
}

void read_stall(std::istringstream &words, const std::string &) {
    size_t chip = 0;
    words >> chip;
    Memory &memory = memories.at(chip);
    words >> memory.rate >> memory.stall_from >> memory.stall_to;
}

void store(const std::string &folder) {
    for (size_t chip = 0; chip < memories.size(); ++chip)
        write_all(folder + "written_" + std::to_string(chip) + ".bin", memories[chip].bytes);
}

const Part part(clear, {{"memory", read_memory}, {"stall", read_stall}}, store);

}  // namespace

extern "C" {

void recspeed_memory_read(int chip, int address, svBitVecVal *data) {
    const std::vector<uint8_t> &memory = memories[static_cast<size_t>(chip)].bytes;
    const size_t place = static_cast<size_t>(address) * kLineBytes;
    if (place + kLineBytes > memory.size()) {
        report("violation chip " + std::to_string(chip) + " reads line " +
               std::to_string(address) + " outside its buffers");
        std::memset(data, 0, kLineBytes);
        return;
    }
    std::memcpy(data, memory.data() + place, kLineBytes);
}

void recspeed_memory_write(int chip, long long cycle, int address, int bytes,
                           const svBitVecVal *data) {
    Memory &target = memories[static_cast<size_t>(chip)];
    const size_t line = static_cast<size_t>(address);
    std::string what;
    if (line >= target.writes.size()) what = "outside its buffers";
    else if (target.writes[line]++ != 0) what = "a second time";
    else if (bytes < 1 || bytes > static_cast<int>(kLineBytes)) what = "with a wrong length";
    if (!what.empty()) {
        report("violation chip " + std::to_string(chip) + " writes line " +
               std::to_string(address) + " " + what + " at cycle " +
               std::to_string(cycle));
        return;
    }
    std::memcpy(target.bytes.data() + line * kLineBytes, data, static_cast<size_t>(bytes));
}

void recspeed_stalls(int chip, int *rate, long long *stall_from, long long *stall_to) {
    if (memories.empty()) return;
    const Memory &target = memories[static_cast<size_t>(chip)];
    *rate = target.rate;
    *stall_from = target.stall_from;
    *stall_to = target.stall_to;
}

void recspeed_violation(int chip, int port, long long cycle) {
    report("violation stream law at write port " + std::to_string(port) + " of chip " +
           std::to_string(chip) + " at cycle " + std::to_string(cycle));
}
}

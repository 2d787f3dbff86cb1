// Hosts of chips and their events: the C++ side of host.sv.

#include "peers.h"

#include <cstring>

#include "svdpi.h"

namespace {

using namespace recspeed;

constexpr size_t kDescriptorWords = 64;

struct __attribute__((packed)) Item {
    int64_t ready_from;
    uint32_t words[kDescriptorWords];
};

std::vector<std::vector<Item>> hosts;

void clear() { hosts.clear(); }

void read_host(std::istringstream &words, const std::string &folder) {
    size_t chip = 0;
    words >> chip;
    if (chip != hosts.size()) die("hosts are not in the order of their chips");
    hosts.push_back(read_all<Item>(folder + "descriptors_" + std::to_string(chip) + ".bin"));
}

const Part part(clear, {{"host", read_host}});

}  // namespace

extern "C" {

int recspeed_descriptor(int chip, int index, long long *ready_from, svBitVecVal *payload) {
    if (hosts.empty()) return 0;
    const std::vector<Item> &items = hosts[static_cast<size_t>(chip)];
    if (static_cast<size_t>(index) < items.size()) {
        *ready_from = items[static_cast<size_t>(index)].ready_from;
        std::memcpy(payload, items[static_cast<size_t>(index)].words, sizeof(Item::words));
    }
    return static_cast<int>(items.size());
}

void recspeed_event(int chip, long long cycle, int what, int value) {
    static const char *const names[] = {"start", "complete", "peers", "error"};
    report(std::string(names[what]) + " " + std::to_string(chip) + " " +
           std::to_string(cycle) + " " + std::to_string(value));
}

void recspeed_finish(long long cycle) { report("end " + std::to_string(cycle)); }

void recspeed_count(int chip, int link, const svBitVecVal *counters) {
    std::string line = "counters " + std::to_string(chip) + " " + std::to_string(link);
    for (int word = 0; word < 9; ++word) line += " " + std::to_string(counters[word]);
    report(line);
}
}

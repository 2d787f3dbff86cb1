// The C++ side of peers.sv. A run is a folder `$RECSPEED_RUNS/<index>` with
//   run.txt             "chips N", "stall CHIP RATE FROM TO", "dead WIRE FROM", "depths REPLAY RECEIVE CHANNELS"
//   memory_R.bin        64 B lines: rank R's buffers
//   descriptors_R.bin   records of a 64-bit clock and 2048 bits
//   faults.bin          records as in struct Fault, sorted by wire, then by ordinal
// and receives, when it is stored,
//   written_R.bin       rank R's buffers as they are then
//   events.txt          one line per event: start, complete, peers, error, violation, counters

#include "peers.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "svdpi.h"

namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kFlitWords = 17;
constexpr size_t kDescriptorWords = 64;

struct __attribute__((packed)) Fault {
    int32_t wire;
    int32_t kind;  // 0 corrupt, 1 drop, 2 duplicate
    int64_t ordinal;
    uint32_t mask[kFlitWords];
};

struct __attribute__((packed)) Item {
    int64_t ready_from;
    uint32_t words[kDescriptorWords];
};

struct Chip {
    std::vector<uint8_t> memory;
    std::vector<uint8_t> writes;
    std::vector<Item> items;
    int rate = 0;
    int64_t stall_from = INT64_MAX;
    int64_t stall_to = INT64_MAX;
};

struct Wire {
    std::vector<Fault> faults;
    size_t next = 0;
    int64_t dead_from = INT64_MAX;
};

std::vector<Chip> chips;
std::map<int, Wire> wires;
std::string folder;
std::ostringstream events;

template <typename T>
std::vector<T> read_all(const std::string &path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) collective_die("cannot read " + path);
    std::vector<T> data(static_cast<size_t>(file.tellg()) / sizeof(T));
    file.seekg(0);
    file.read(reinterpret_cast<char *>(data.data()),
              static_cast<std::streamsize>(data.size() * sizeof(T)));
    return data;
}

int64_t next_ordinal(const Wire &wire) {
    return wire.next < wire.faults.size() ? wire.faults[wire.next].ordinal : -1;
}

void read_settings(const std::string &path) {
    std::ifstream file(path);
    if (!file) collective_die("cannot read " + path);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string what;
        size_t number = 0;
        words >> what >> number;
        if (what == "chips") {
            chips.resize(number);
        } else if (what == "stall") {
            Chip &chip = chips.at(number);
            words >> chip.rate >> chip.stall_from >> chip.stall_to;
        } else if (what == "dead") {
            words >> wires[static_cast<int>(number)].dead_from;
        } else if (what == "depths") {
            int64_t receive = 0;
            int channels = 0;
            words >> receive >> channels;
            collective_checker_begin(static_cast<int64_t>(number), receive, channels);
        } else {
            collective_die("unknown line in run.txt: " + line);
        }
        if (!words) collective_die("bad line in run.txt: " + line);
    }
}

}  // namespace

void collective_die(const std::string &message) {
    std::fprintf(stderr, "Error: harness: %s\n", message.c_str());
    std::exit(1);
}

void collective_report(const std::string &line) { events << line << "\n"; }

extern "C" {

void collective_load(int index) {
    const char *root = std::getenv("RECSPEED_RUNS");
    if (root == nullptr) collective_die("RECSPEED_RUNS is not set");
    folder = std::string(root) + "/" + std::to_string(index) + "/";
    chips.clear();
    wires.clear();
    events.str("");
    read_settings(folder + "run.txt");
    for (size_t rank = 0; rank < chips.size(); ++rank) {
        const std::string name = std::to_string(rank) + ".bin";
        chips[rank].memory = read_all<uint8_t>(folder + "memory_" + name);
        chips[rank].writes.assign(chips[rank].memory.size() / kLineBytes, 0);
        chips[rank].items = read_all<Item>(folder + "descriptors_" + name);
    }
    for (const Fault &fault : read_all<Fault>(folder + "faults.bin"))
        wires[fault.wire].faults.push_back(fault);
}

void collective_store() {
    for (size_t rank = 0; rank < chips.size(); ++rank) {
        std::ofstream file(folder + "written_" + std::to_string(rank) + ".bin", std::ios::binary);
        file.write(reinterpret_cast<const char *>(chips[rank].memory.data()),
                   static_cast<std::streamsize>(chips[rank].memory.size()));
        file.close();
        if (!file) collective_die("cannot write in " + folder);
    }
    std::ofstream file(folder + "events.txt");
    file << events.str();
    file.close();
    if (!file) collective_die("cannot write in " + folder);
}

void collective_wire_begin(int id, long long *next_fault, long long *dead_from) {
    *next_fault = next_ordinal(wires[id]);
    *dead_from = wires[id].dead_from;
}

long long collective_wire_fault(int id, long long, const svBitVecVal *flit, svBitVecVal *changed,
                                int *copies) {
    Wire &wire = wires[id];
    const Fault &fault = wire.faults[wire.next++];
    *copies = fault.kind == 2;
    for (size_t word = 0; word < kFlitWords; ++word)
        changed[word] = fault.kind == 1 ? 0 : flit[word] ^ fault.mask[word];
    return next_ordinal(wire);
}

void collective_memory_read(int chip, int address, svBitVecVal *data) {
    const std::vector<uint8_t> &memory = chips[static_cast<size_t>(chip)].memory;
    const size_t place = static_cast<size_t>(address) * kLineBytes;
    if (place + kLineBytes > memory.size()) {
        collective_report("violation chip " + std::to_string(chip) + " reads line " +
                          std::to_string(address) + " outside its buffers");
        std::memset(data, 0, kLineBytes);
        return;
    }
    std::memcpy(data, memory.data() + place, kLineBytes);
}

void collective_memory_write(int chip, long long cycle, int address, int bytes,
                             const svBitVecVal *data) {
    Chip &target = chips[static_cast<size_t>(chip)];
    const size_t line = static_cast<size_t>(address);
    std::string what;
    if (line >= target.writes.size()) what = "outside its buffers";
    else if (target.writes[line]++ != 0) what = "a second time";
    else if (bytes < 1 || bytes > static_cast<int>(kLineBytes)) what = "with a wrong length";
    if (!what.empty()) {
        collective_report("violation chip " + std::to_string(chip) + " writes line " +
                          std::to_string(address) + " " + what + " at cycle " +
                          std::to_string(cycle));
        return;
    }
    std::memcpy(target.memory.data() + line * kLineBytes, data, static_cast<size_t>(bytes));
}

void collective_stalls(int chip, int *rate, long long *stall_from, long long *stall_to) {
    if (chips.empty()) return;
    const Chip &target = chips[static_cast<size_t>(chip)];
    *rate = target.rate;
    *stall_from = target.stall_from;
    *stall_to = target.stall_to;
}

void collective_violation(int chip, int port, long long cycle) {
    collective_report("violation stream law at write port " + std::to_string(port) + " of chip " +
                      std::to_string(chip) + " at cycle " + std::to_string(cycle));
}

int collective_descriptor(int chip, int index, long long *ready_from, svBitVecVal *payload) {
    if (chips.empty()) return 0;
    const std::vector<Item> &items = chips[static_cast<size_t>(chip)].items;
    if (static_cast<size_t>(index) < items.size()) {
        *ready_from = items[static_cast<size_t>(index)].ready_from;
        std::memcpy(payload, items[static_cast<size_t>(index)].words, sizeof(Item::words));
    }
    return static_cast<int>(items.size());
}

void collective_event(int chip, long long cycle, int what, int value) {
    static const char *const names[] = {"start", "complete", "peers", "error"};
    collective_report(std::string(names[what]) + " " + std::to_string(chip) + " " +
                      std::to_string(cycle) + " " + std::to_string(value));
}

void collective_finish(long long cycle) { collective_report("end " + std::to_string(cycle)); }

void collective_count(int chip, int link, const svBitVecVal *counters) {
    std::string line = "counters " + std::to_string(chip) + " " + std::to_string(link);
    for (int word = 0; word < 9; ++word) line += " " + std::to_string(counters[word]);
    collective_report(line);
}
}

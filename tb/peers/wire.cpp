// Wires between engines, with their faults: the C++ side of wire.sv.

#include "peers.h"

#include "svdpi.h"

namespace {

using namespace recspeed;

constexpr size_t kFlitWords = 17;

struct __attribute__((packed)) Fault {
    int32_t wire;
    int32_t kind;  // 0 corrupt, 1 drop, 2 duplicate
    int64_t ordinal;
    uint32_t mask[kFlitWords];
};

struct Wire {
    std::vector<Fault> faults;
    size_t next = 0;
    int64_t dead_from = INT64_MAX;
};

std::map<int, Wire> wires;

int64_t next_ordinal(const Wire &wire) {
    return wire.next < wire.faults.size() ? wire.faults[wire.next].ordinal : -1;
}

void clear() { wires.clear(); }

void read_faults(std::istringstream &words, const std::string &folder) {
    size_t count = 0;
    words >> count;
    const std::vector<Fault> faults = read_all<Fault>(folder + "faults.bin");
    if (faults.size() != count) die("faults.bin holds another number of faults than run.txt says");
    for (const Fault &fault : faults) wires[fault.wire].faults.push_back(fault);
}

void read_dead(std::istringstream &words, const std::string &) {
    int id = 0;
    words >> id;
    words >> wires[id].dead_from;
}

const Part part(clear, {{"faults", read_faults}, {"dead", read_dead}});

}  // namespace

extern "C" {

void recspeed_wire_begin(int id, long long *next_fault, long long *dead_from) {
    *next_fault = next_ordinal(wires[id]);
    *dead_from = wires[id].dead_from;
}

long long recspeed_wire_fault(int id, long long, const svBitVecVal *flit, svBitVecVal *changed,
                              int *copies) {
    Wire &wire = wires[id];
    const Fault &fault = wire.faults[wire.next++];
    *copies = fault.kind == 2;
    for (size_t word = 0; word < kFlitWords; ++word)
        changed[word] = fault.kind == 1 ? 0 : flit[word] ^ fault.mask[word];
    return next_ordinal(wire);
}
}

// DRAM: the C++ side of dram.sv. A dram line's IMAGE is 1 when image_ID.bin holds the contents, bytes
// in the order row, flat bank, byte in row; else they are hashed.

#include "peers.h"

#include <cstring>
#include <deque>
#include <unordered_map>

#include "svdpi.h"

namespace {

using namespace recspeed;

struct __attribute__((packed)) Command {
    int64_t cycle;
    uint32_t row;
    uint16_t column;
    uint8_t bank;
    uint8_t command;
};

enum CommandCode : uint8_t { kAct, kRd, kRda, kRef, kWr, kWra, kRefpb };

struct Beat {
    uint64_t words[2];
};

struct Dram {
    uint64_t banks = 0;
    uint64_t banks_per_rank = 0;
    uint64_t bursts_per_row = 0;
    uint64_t burst_bytes = 0;
    uint64_t seed = 0;
    bool has_image = false;
    std::vector<uint8_t> image;
    std::unordered_map<uint64_t, std::vector<Beat>> written;  // by burst, over image or hash
    std::vector<uint32_t> open_row;
    std::deque<Beat> reads;        // beats on their way back
    std::deque<uint64_t> writes;   // bursts whose data is still to come
    std::vector<Beat> write_beats; // of the first of them
    std::vector<Command> commands;

    uint64_t beats() const { return burst_bytes / sizeof(Beat); }
};

std::map<int, Dram> drams;

void clear() { drams.clear(); }

void read_dram(std::istringstream &words, const std::string &folder) {
    int id = 0;
    words >> id;
    Dram &dram = drams[id];
    words >> dram.banks >> dram.banks_per_rank >> dram.bursts_per_row >> dram.burst_bytes >>
        dram.seed >> dram.has_image;
    dram.open_row.assign(dram.banks, 0);
    if (dram.has_image)
        dram.image = read_all<uint8_t>(folder + "image_" + std::to_string(id) + ".bin");
}

void store(const std::string &folder) {
    for (const auto &[id, dram] : drams)
        write_all(folder + "commands_" + std::to_string(id) + ".bin", dram.commands);
}

const Part part(clear, {{"dram", read_dram}}, store);

}  // namespace

extern "C" {

// kind: 0 ACT, 1 REF, 2 REFpb
void recspeed_dram_row(int id, long long cycle, int kind, int bank, int row) {
    Dram &dram = drams[id];
    const auto number = static_cast<uint8_t>(bank);
    if (kind != 0) {
        dram.commands.push_back({cycle, 0, 0, number, kind == 2 ? kRefpb : kRef});
        return;
    }
    dram.open_row.at(number) = static_cast<uint32_t>(row);
    dram.commands.push_back({cycle, static_cast<uint32_t>(row), 0, number, kAct});
}

void recspeed_dram_column(int id, long long cycle, int write, int precharge, int bank,
                          int column) {
    Dram &dram = drams[id];
    const uint32_t row = dram.open_row.at(static_cast<size_t>(bank));
    const CommandCode code = write ? (precharge ? kWra : kWr) : (precharge ? kRda : kRd);
    dram.commands.push_back(
        {cycle, row, static_cast<uint16_t>(column), static_cast<uint8_t>(bank), code});
    const uint64_t burst = (row * dram.banks + static_cast<uint64_t>(bank)) * dram.bursts_per_row +
                           static_cast<uint64_t>(column);
    if (write) {
        dram.writes.push_back(burst);
        return;
    }
    const auto stored = dram.written.find(burst);
    for (uint64_t beat = 0; beat < dram.beats(); ++beat) {
        Beat value = {{0, 0}};
        const uint64_t place = burst * dram.beats() + beat;
        if (stored != dram.written.end()) {
            value = stored->second[beat];
        } else if (!dram.has_image) {
            value = {{hashed_word(dram.seed, 2 * place), hashed_word(dram.seed, 2 * place + 1)}};
        } else if ((place + 1) * sizeof(Beat) <= dram.image.size()) {
            // Beyond the image lies nothing that a run may read: zeros make such a read visible.
            std::memcpy(&value, dram.image.data() + place * sizeof(Beat), sizeof(Beat));
        }
        dram.reads.push_back(value);
    }
}

void recspeed_dram_store(int id, const svBitVecVal *beat) {
    Dram &dram = drams[id];
    if (dram.writes.empty()) die("write data without a write command");
    Beat value;
    std::memcpy(&value, beat, sizeof value);
    dram.write_beats.push_back(value);
    if (dram.write_beats.size() == dram.beats()) {
        dram.written[dram.writes.front()] = dram.write_beats;
        dram.writes.pop_front();
        dram.write_beats.clear();
    }
}

void recspeed_dram_beat(int id, svBitVecVal *beat) {
    Dram &dram = drams[id];
    if (dram.reads.empty()) die("a beat is due and none is left");
    std::memcpy(beat, &dram.reads.front(), sizeof(Beat));
    dram.reads.pop_front();
}
}

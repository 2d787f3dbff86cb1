// The C++ side of peers.sv. A run is a folder `$RECSPEED_RUNS/<index>` with
//   run.txt        lines of "source ID PATTERN", "sink ID PATTERN", "beats ID PATTERN COUNT SEED"
//                  and "dram ID BANKS BANKS_PER_RANK BURSTS_PER_ROW BURST_BYTES SEED IMAGE";
//                  IMAGE is 1 when image_ID.bin holds the contents, else they are hashed
//   source_ID.bin  64-bit items
//   image_ID.bin   bytes in the order row, flat bank, byte in row
// and receives, when it is stored,
//   sink_ID.bin    records of a 64-bit cycle and a 512-bit item
//   commands_ID.bin  records as in struct Command
// The hash of the contents is written down in models/spec/hashed_contents.py.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "svdpi.h"

namespace {

constexpr uint64_t kSeedFactor = 0xA0761D6478BD642FULL;
constexpr uint64_t kFactor1 = 0x9E3779B97F4A7C15ULL;
constexpr uint64_t kFactor2 = 0xD6E8FEB86659FD93ULL;
struct Source {
    uint64_t pattern = 0;
    std::vector<uint64_t> items;
    size_t next = 0;
};

struct SinkRecord {
    int64_t cycle;
    uint32_t item[16];
};

struct Sink {
    uint64_t pattern = 0;
    std::vector<SinkRecord> records;
};

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

struct Beats {
    uint64_t pattern = 0;
    uint64_t count = 0;
    uint64_t seed = 0;
    uint64_t next = 0;
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

std::map<int, Source> sources;
std::map<int, Sink> sinks;
std::map<int, Beats> beat_sources;
std::map<int, Dram> drams;
std::string folder;

[[noreturn]] void die(const std::string &message) {
    std::fprintf(stderr, "Error: harness: %s\n", message.c_str());
    std::exit(1);
}

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

template <typename T>
void write_all(const std::string &path, const std::vector<T> &data) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(T)));
    file.close();
    if (!file) die("cannot write " + path);
}

uint64_t hashed_word(uint64_t seed, uint64_t word) {
    uint64_t x = (word + seed * kSeedFactor) * kFactor1;
    x ^= x >> 32;
    x *= kFactor2;
    x ^= x >> 32;
    const uint64_t exponents = x & 0x7C007C007C007C00ULL;
    for (int shift = 0; shift < 64; shift += 16)
        if (((exponents >> shift) & 0x7C00) == 0x7C00) x &= ~(0x4000ULL << shift);
    return x;
}

}  // namespace

extern "C" {

void recspeed_load(int index) {
    const char *root = std::getenv("RECSPEED_RUNS");
    if (root == nullptr) die("RECSPEED_RUNS is not set");
    folder = std::string(root) + "/" + std::to_string(index) + "/";
    sources.clear();
    sinks.clear();
    beat_sources.clear();
    drams.clear();
    std::ifstream file(folder + "run.txt");
    if (!file) die("cannot read " + folder + "run.txt");
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string kind;
        int id = 0;
        words >> kind >> id;
        if (kind == "source") {
            Source &source = sources[id];
            words >> source.pattern;
            source.items = read_all<uint64_t>(folder + "source_" + std::to_string(id) + ".bin");
        } else if (kind == "sink") {
            words >> sinks[id].pattern;
        } else if (kind == "beats") {
            Beats &beats = beat_sources[id];
            words >> beats.pattern >> beats.count >> beats.seed;
        } else if (kind == "dram") {
            Dram &dram = drams[id];
            words >> dram.banks >> dram.banks_per_rank >> dram.bursts_per_row >>
                dram.burst_bytes >> dram.seed >> dram.has_image;
            dram.open_row.assign(dram.banks, 0);
            if (dram.has_image)
                dram.image = read_all<uint8_t>(folder + "image_" + std::to_string(id) + ".bin");
        } else {
            die("unknown line in run.txt: " + line);
        }
        if (!words) die("bad line in run.txt: " + line);
    }
}

void recspeed_store() {
    for (const auto &[id, sink] : sinks)
        write_all(folder + "sink_" + std::to_string(id) + ".bin", sink.records);
    for (const auto &[id, dram] : drams)
        write_all(folder + "commands_" + std::to_string(id) + ".bin", dram.commands);
}

long long recspeed_source_pattern(int id) {
    return static_cast<long long>(sources[id].pattern);
}

int recspeed_source_next(int id, long long *item) {
    Source &source = sources[id];
    if (source.next == source.items.size()) return 0;
    *item = static_cast<long long>(source.items[source.next++]);
    return 1;
}

long long recspeed_sink_pattern(int id) { return static_cast<long long>(sinks[id].pattern); }

void recspeed_sink_put(int id, long long cycle, const svBitVecVal *item) {
    SinkRecord record;
    record.cycle = cycle;
    std::memcpy(record.item, item, sizeof record.item);
    sinks[id].records.push_back(record);
}

long long recspeed_beats_pattern(int id) {
    return static_cast<long long>(beat_sources[id].pattern);
}

int recspeed_beats_next(int id, svBitVecVal *beat) {
    Beats &beats = beat_sources[id];
    if (beats.next == beats.count) return 0;
    const uint64_t words[2] = {hashed_word(beats.seed, 2 * beats.next),
                               hashed_word(beats.seed, 2 * beats.next + 1)};
    std::memcpy(beat, words, sizeof words);
    ++beats.next;
    return 1;
}

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

// The C++ side of peers.sv. A run is a folder `$RECSPEED_RUNS/<index>` with
//   run.txt        "source ID PATTERN", "sink ID PATTERN" and "dram ID BANKS BURSTS_PER_ROW SEED IMAGE"
//                  lines; IMAGE is 1 when image_ID.bin holds the contents, else they are hashed
//   source_ID.bin  64-bit items
//   image_ID.bin   bytes in the order row, flat bank, byte in row
// and receives, when it is stored,
//   sink_ID.bin    records of a 64-bit cycle and a 512-bit item
//   commands_ID.bin  records as in struct Command
// The hash of the contents is written down in models/spec/content.py.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "svdpi.h"

namespace {

constexpr uint64_t kSeedFactor = 0xA0761D6478BD642FULL;
constexpr uint64_t kFactor1 = 0x9E3779B97F4A7C15ULL;
constexpr uint64_t kFactor2 = 0xD6E8FEB86659FD93ULL;
constexpr size_t kBurstBytes = 32;

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

enum CommandCode : uint8_t { kAct = 0, kRd = 1, kRda = 2, kRef = 3 };

struct Beat {
    uint64_t words[2];
};

struct Dram {
    uint64_t banks = 0;
    uint64_t bursts_per_row = 0;
    uint64_t seed = 0;
    bool has_image = false;
    std::vector<uint8_t> image;
    std::vector<uint32_t> open_row;
    std::deque<Beat> beats;
    std::vector<Command> commands;
};

std::map<int, Source> sources;
std::map<int, Sink> sinks;
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

uint64_t hashed_word(const Dram &dram, uint64_t word) {
    uint64_t x = (word + dram.seed * kSeedFactor) * kFactor1;
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
        } else if (kind == "dram") {
            Dram &dram = drams[id];
            words >> dram.banks >> dram.bursts_per_row >> dram.seed >> dram.has_image;
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

void recspeed_dram_row(int id, long long cycle, int refresh, int bank, int row) {
    Dram &dram = drams[id];
    if (refresh) {
        dram.commands.push_back({cycle, 0, 0, 0, kRef});
        return;
    }
    dram.open_row.at(static_cast<size_t>(bank)) = static_cast<uint32_t>(row);
    dram.commands.push_back(
        {cycle, static_cast<uint32_t>(row), 0, static_cast<uint8_t>(bank), kAct});
}

void recspeed_dram_read(int id, long long cycle, int precharge, int bank, int column) {
    Dram &dram = drams[id];
    const uint32_t row = dram.open_row.at(static_cast<size_t>(bank));
    dram.commands.push_back({cycle, row, static_cast<uint16_t>(column), static_cast<uint8_t>(bank),
                             precharge ? kRda : kRd});
    const uint64_t burst = (row * dram.banks + static_cast<uint64_t>(bank)) * dram.bursts_per_row +
                           static_cast<uint64_t>(column);
    uint64_t words[4];
    if (dram.has_image) {
        // Beyond the image lies nothing that a run may read; zeros make such a read visible.
        std::memset(words, 0, sizeof words);
        if ((burst + 1) * kBurstBytes <= dram.image.size())
            std::memcpy(words, dram.image.data() + burst * kBurstBytes, kBurstBytes);
    } else {
        for (uint64_t word = 0; word < 4; ++word) words[word] = hashed_word(dram, burst * 4 + word);
    }
    dram.beats.push_back({{words[0], words[1]}});
    dram.beats.push_back({{words[2], words[3]}});
}

void recspeed_dram_beat(int id, svBitVecVal *beat) {
    Dram &dram = drams[id];
    if (dram.beats.empty()) die("a beat is due and none is left");
    std::memcpy(beat, dram.beats.front().words, sizeof dram.beats.front().words);
    dram.beats.pop_front();
}
}

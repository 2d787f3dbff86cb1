// Sources, sinks and sources of hashed beats: the C++ side of streams.sv.

#include "peers.h"

#include <cstring>

#include "svdpi.h"

namespace {

using namespace recspeed;

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

struct Beats {
    uint64_t pattern = 0;
    uint64_t count = 0;
    uint64_t seed = 0;
    uint64_t next = 0;
};

std::map<int, Source> sources;
std::map<int, Sink> sinks;
std::map<int, Beats> beat_sources;

void clear() {
    sources.clear();
    sinks.clear();
    beat_sources.clear();
}

void read_source(std::istringstream &words, const std::string &folder) {
    int id = 0;
    words >> id;
    Source &source = sources[id];
    words >> source.pattern;
    source.items = read_all<uint64_t>(folder + "source_" + std::to_string(id) + ".bin");
}

void read_sink(std::istringstream &words, const std::string &) {
    int id = 0;
    words >> id;
    words >> sinks[id].pattern;
}

void read_beats(std::istringstream &words, const std::string &) {
    int id = 0;
    words >> id;
    Beats &beats = beat_sources[id];
    words >> beats.pattern >> beats.count >> beats.seed;
}

void store(const std::string &folder) {
    for (const auto &[id, sink] : sinks)
        write_all(folder + "sink_" + std::to_string(id) + ".bin", sink.records);
}

const Part part(clear, {{"source", read_source}, {"sink", read_sink}, {"beats", read_beats}}, store);

}  // namespace

extern "C" {

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
}

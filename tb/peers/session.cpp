// Loads and stores runs. A run is a folder `$RECSPEED_RUNS/<index>` with run.txt, lines of a kind and
// what that kind takes, and the binary files that they imply:
//   streams.cpp    source ID PATTERN               source_ID.bin: 64-bit items
//                  sink ID PATTERN
//                  beats ID PATTERN COUNT SEED
//   dram.cpp       dram ID BANKS BANKS_PER_RANK BURSTS_PER_ROW BURST_BYTES SEED IMAGE
//                                                  image_ID.bin if IMAGE is 1
//   memory.cpp     memory CHIP                     memory_CHIP.bin: lines of 64 B
//                  stall CHIP RATE FROM TO
//   host.cpp       host CHIP                       descriptors_CHIP.bin: struct Item
//   wire.cpp       faults COUNT                    faults.bin: struct Fault, by wire, then ordinal
//                  dead WIRE FROM
//   link_laws.cpp  depths REPLAY RECEIVE CHANNELS
// It receives, when it is stored,
//   sink_ID.bin       records of a 64-bit cycle and a 512-bit item
//   commands_ID.bin   struct Command
//   written_CHIP.bin  a chip's buffers as they are then
//   events.txt        what was reported, one line per event

#include "peers.h"

#include <cstdio>
#include <cstdlib>

namespace recspeed {

namespace {

// Made at first use, since parts of other files are made before anything here.
std::vector<Part *> &parts() {
    static std::vector<Part *> all;
    return all;
}

std::string folder;
std::ostringstream events;

void read_line(const std::string &line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    for (const Part *part : parts()) {
        const auto found = part->lines.find(kind);
        if (found == part->lines.end()) continue;
        found->second(words, folder);
        if (!words) die("bad line in run.txt: " + line);
        return;
    }
    die("unknown line in run.txt: " + line);
}

}  // namespace

Part::Part(std::function<void()> clear_, std::map<std::string, Line> lines_,
           std::function<void(const std::string &folder)> store_)
    : clear(std::move(clear_)), lines(std::move(lines_)), store(std::move(store_)) {
    parts().push_back(this);
}

void die(const std::string &message) {
    std::fprintf(stderr, "Error: harness: %s\n", message.c_str());
    std::exit(1);
}

void report(const std::string &line) { events << line << "\n"; }

}  // namespace recspeed

extern "C" {

void recspeed_load(int index) {
    using namespace recspeed;
    const char *root = std::getenv("RECSPEED_RUNS");
    if (root == nullptr) die("RECSPEED_RUNS is not set");
    folder = std::string(root) + "/" + std::to_string(index) + "/";
    events.str("");
    for (const Part *part : parts()) part->clear();
    std::ifstream file(folder + "run.txt");
    if (!file) die("cannot read " + folder + "run.txt");
    std::string line;
    while (std::getline(file, line)) read_line(line);
}

void recspeed_store() {
    using namespace recspeed;
    for (const Part *part : parts())
        if (part->store) part->store(folder);
    std::ofstream file(folder + "events.txt");
    file << events.str();
    file.close();
    if (!file) die("cannot write " + folder + "events.txt");
}
}

// Checks the laws of the links from the flits on the wires alone; knows nothing of the engines.
// Directions have numbers: `id` is the one a flit travels on, `back` the opposite one.

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "peers.h"
#include "svdpi.h"

namespace {

using recspeed::report;

constexpr int64_t kNumbers = 4096;
constexpr size_t kFlitBytes = 68;
constexpr int kMaximumReports = 20;
// Clocks after the arrival of a report in which a flit that was already chosen may still appear.
constexpr int64_t kReaction = 3;
enum Kind { kIdle = 0, kData = 1, kHead = 2, kControl = 3, kInit = 4 };

using Flit = std::array<uint8_t, kFlitBytes>;

// One virtual channel of a direction.
struct Channel {
    int64_t next = 0;        // new flits that its sender has sent
    int64_t limit = 0;       // credit in reports that reached the sender
    int64_t told_ack = 0;    // flits that the last report of its receiver acknowledges, as sent
    int64_t told_limit = 0;  // credit in that report
};

// One direction, in totals that never wrap.
struct Direction {
    int64_t next = 0;       // new flits that its sender has sent
    int64_t acked = 0;      // of these, acknowledged in reports that reached the sender
    int64_t delivered = 0;  // flits that arrived good and in order
    int64_t told_ack = 0;   // last report of its receiver, as sent
    std::array<Channel, 2> channels;
    std::map<int64_t, Flit> unacked;
    std::map<int64_t, Flit> just_acked;  // by the report that arrived in clock `acked_at`
    int64_t acked_at = 0;
};

std::map<int, Direction> directions;
int64_t replay_depth = 0;
int64_t receive_depth = 0;
int channels = 1;
int reports = 0;

void violate(int id, int64_t cycle, const std::string &law) {
    if (reports++ < kMaximumReports)
        report("violation link law on wire " + std::to_string(id) + " at cycle " +
               std::to_string(cycle) + ": " + law);
}

uint16_t remainder_of(const Flit &flit) {
    static const std::array<uint16_t, 256> table = [] {
        std::array<uint16_t, 256> built{};
        for (unsigned byte = 0; byte < 256; ++byte) {
            unsigned value = byte;
            for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xA001u : 0u);
            built[byte] = static_cast<uint16_t>(value);
        }
        return built;
    }();
    uint16_t crc = 0;
    for (uint8_t byte : flit) crc = static_cast<uint16_t>((crc >> 8) ^ table[(crc ^ byte) & 0xFF]);
    return crc;
}

// The total that is `number` modulo the sequence numbers and lies less than `behind` + 1 before
// `around`. Credit moves forward by up to half of the numbers, so its `behind` must be less.
int64_t unwrap(int64_t number, int64_t around, int64_t behind = kNumbers / 2) {
    const int64_t ahead = ((number - around) % kNumbers + kNumbers) % kNumbers;
    return around + (ahead >= kNumbers - behind ? ahead - kNumbers : ahead);
}

struct Fields {
    int kind;
    size_t channel;
    int64_t sequence;
    int64_t ack;
    std::array<int64_t, 2> limit;
};

Fields fields_of(const Flit &flit) {
    const int header = flit[0] | flit[1] << 8;
    return {header & 7,
            static_cast<size_t>(header >> 3 & 1),
            header >> 4,
            (flit[2] | flit[3] << 8) & 0xFFF,
            {(flit[4] | flit[5] << 8) & 0xFFF, (flit[6] | flit[7] << 8) & 0xFFF}};
}

Flit flit_of(const svBitVecVal *bits) {
    Flit flit;
    std::memcpy(flit.data(), bits, kFlitBytes);
    return flit;
}

void check_body(int id, int64_t cycle, const Flit &flit, const Fields &fields) {
    Direction &direction = directions[id];
    const int64_t number = unwrap(fields.sequence, direction.next);
    if (number == direction.next) {
        Channel &channel = direction.channels[fields.channel];
        if (channel.next >= channel.limit) violate(id, cycle, "a new flit without credit");
        ++channel.next;
        if (number - direction.acked >= replay_depth)
            violate(id, cycle, "more flits unacknowledged than the replay buffer holds");
        direction.unacked[number] = flit;
        ++direction.next;
        return;
    }
    auto original = direction.unacked.find(number);
    if (original == direction.unacked.end() && cycle - direction.acked_at <= kReaction) {
        original = direction.just_acked.find(number);
        if (original == direction.just_acked.end()) original = direction.unacked.end();
    }
    if (number > direction.next) violate(id, cycle, "a sequence number was skipped");
    else if (original == direction.unacked.end())
        violate(id, cycle, "a flit is replayed that is acknowledged");
    else if (original->second != flit) violate(id, cycle, "a replayed flit is not the original");
}

void check_report(int id, int back, int64_t cycle, const Flit &flit, const Fields &fields) {
    Direction &other = directions[back];
    const int64_t ack = unwrap(fields.ack, other.told_ack);
    if (ack > other.delivered) violate(id, cycle, "a flit is acknowledged that was not received");
    if (ack < other.told_ack) violate(id, cycle, "an acknowledgement goes back");
    for (; other.told_ack < ack && other.unacked.count(other.told_ack); ++other.told_ack)
        ++other.channels[fields_of(other.unacked[other.told_ack]).channel].told_ack;
    other.told_ack = ack;
    for (size_t number = 0; number < static_cast<size_t>(channels); ++number) {
        Channel &channel = other.channels[number];
        const int64_t limit = unwrap(fields.limit[number], channel.told_limit, kNumbers / 4);
        const std::string which = " of virtual channel " + std::to_string(number);
        if (limit < channel.told_limit) violate(id, cycle, "a credit" + which + " goes back");
        if (limit - channel.told_ack > receive_depth)
            violate(id, cycle, "more credit" + which + " than the receive buffer holds");
        channel.told_limit = limit;
    }
    for (size_t byte = channels == 1 ? 6 : 8; byte < 66; ++byte)
        if (flit[byte] != 0) {
            violate(id, cycle, "a report with reserved bits set");
            break;
        }
}

void clear() {
    directions.clear();
    replay_depth = 0;
    receive_depth = 0;
    channels = 1;
    reports = 0;
}

// Depths of the replay buffer and of the receive buffer of each virtual channel, and their number.
void read_depths(std::istringstream &words, const std::string &) {
    words >> replay_depth >> receive_depth >> channels;
}

const recspeed::Part part(clear, {{"depths", read_depths}});

}  // namespace


extern "C" {

void recspeed_check_sent(int id, int back, long long cycle, const svBitVecVal *bits) {
    const Flit flit = flit_of(bits);
    const Fields fields = fields_of(flit);
    if (remainder_of(flit) != 0) violate(id, cycle, "a flit is sent with a wrong CRC");
    if (fields.kind > kInit) violate(id, cycle, "a flit of an unknown kind");
    const bool body = fields.kind == kData || fields.kind == kHead;
    if (fields.channel >= (body ? static_cast<size_t>(channels) : 1))
        violate(id, cycle, "a virtual channel that does not exist");
    if (body) check_body(id, cycle, flit, fields);
    if (fields.kind == kControl || fields.kind == kInit)
        check_report(id, back, cycle, flit, fields);
}

void recspeed_check_delivered(int id, int back, long long cycle, const svBitVecVal *bits) {
    const Flit flit = flit_of(bits);
    if (remainder_of(flit) != 0) return;
    const Fields fields = fields_of(flit);
    if (fields.kind == kData || fields.kind == kHead) {
        Direction &direction = directions[id];
        if (unwrap(fields.sequence, direction.delivered) == direction.delivered)
            ++direction.delivered;
    }
    if (fields.kind == kControl || fields.kind == kInit) {
        Direction &other = directions[back];
        const int64_t ack = unwrap(fields.ack, other.acked);
        if (ack > other.acked && ack <= other.next) {
            if (cycle - other.acked_at > kReaction) other.just_acked.clear();
            const auto end = other.unacked.lower_bound(ack);
            other.just_acked.insert(other.unacked.begin(), end);
            other.unacked.erase(other.unacked.begin(), end);
            other.acked_at = cycle;
            other.acked = ack;
        }
        for (size_t number = 0; number < static_cast<size_t>(channels); ++number) {
            Channel &channel = other.channels[number];
            const int64_t limit = unwrap(fields.limit[number], channel.limit, kNumbers / 4);
            if (limit > channel.limit) channel.limit = limit;
        }
    }
}
}

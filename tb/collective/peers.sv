// What surrounds the engines of n chips: wires, buffers and hosts. All run at the speed of the
// simulation and call C++ (peers.cpp, checker.cpp) through DPI where something happens.

`default_nettype none

// Loads run number `index` when `load` is 1, writes what it gave when `store` is 1.
module collective_session (
    input wire        clk,
    input wire        load,
    input wire        store,
    input wire [31:0] index
);
    import "DPI-C" function void collective_load(input int index);
    import "DPI-C" function void collective_store();
    always @(posedge clk) begin
        if (load) collective_load(int'(index));
        if (store) collective_store();
    end
endmodule

// One direction of a link: a delay of LATENCY clocks, faults on chosen flits, and the checker's eyes.
module collective_wire #(
    parameter int ID = 0,
    parameter int BACK = 0,
    parameter int LATENCY = 1
) (
    input  wire         clk,
    input  wire         enable,
    input  wire [63:0]  cycle,
    input  wire [543:0] tx,
    output wire [543:0] rx
);
    import "DPI-C" function void collective_wire_begin(
        input int id, output longint next_fault, output longint dead_from
    );
    import "DPI-C" function longint collective_wire_fault(
        input int id, input longint cycle, input bit [543:0] flit, output bit [543:0] changed,
        output int copies
    );
    import "DPI-C" function void collective_check_sent(
        input int id, input int back, input longint cycle, input bit [543:0] flit
    );
    import "DPI-C" function void collective_check_delivered(
        input int id, input int back, input longint cycle, input bit [543:0] flit
    );
    localparam int BITS = LATENCY > 1 ? $clog2(LATENCY) : 1;
    reg [543:0] line[LATENCY];
    reg [BITS-1:0] place;
    longint next_fault;
    longint dead_from;
    longint ordinal;
    bit [543:0] out;
    bit [543:0] copy;
    int copies;
    int pending;

    assign rx = (cycle < 64'(LATENCY)) ? '0 : line[place];

    always @(posedge clk) begin
        if (!enable) begin
            place   <= '0;
            ordinal = 0;
            pending = 0;
            collective_wire_begin(ID, next_fault, dead_from);
        end else begin
            out = tx;
            if (tx[2:0] != 0) begin
                collective_check_sent(ID, BACK, longint'(cycle), tx);
                if (ordinal == next_fault) begin
                    next_fault = collective_wire_fault(ID, longint'(cycle), tx, out, copies);
                    if (pending == 0 && copies != 0) begin
                        copy    = tx;
                        pending = 2;
                    end
                end
                ordinal = ordinal + 1;
            end
            if (pending == 1) out = copy;
            if (pending != 0) pending = pending - 1;
            if (longint'(cycle) >= dead_from) out = '0;
            line[place] <= out;
            place <= (place == BITS'(LATENCY - 1)) ? '0 : place + 1'b1;
            if (rx[2:0] != 0) collective_check_delivered(ID, BACK, longint'(cycle), rx);
        end
    end
endmodule

// A read port of a chip's buffers.
module collective_read #(
    parameter int CHIP = 0
) (
    input  wire         clk,
    input  wire         enable,
    input  wire [25:0]  address,
    output reg  [511:0] data
);
    import "DPI-C" function void collective_memory_read(
        input int chip, input int address, output bit [511:0] data
    );
    bit [511:0] line;
    always @(posedge clk) begin
        if (enable) begin
            collective_memory_read(CHIP, int'(address), line);
            data <= line;
        end
    end
endmodule

// A write port of a chip's buffers; not ready in the stalls of the run. Checks the stream law.
module collective_write #(
    parameter int CHIP = 0,
    parameter int PORT = 0
) (
    input  wire         clk,
    input  wire         enable,
    input  wire [63:0]  cycle,
    input  wire         valid,
    output wire         ready,
    input  wire [25:0]  address,
    input  wire [6:0]   bytes,
    input  wire [511:0] data
);
    import "DPI-C" function void collective_memory_write(
        input int chip, input longint cycle, input int address, input int bytes,
        input bit [511:0] data
    );
    import "DPI-C" function void collective_stalls(
        input int chip, output int rate, output longint stall_from, output longint stall_to
    );
    import "DPI-C" function void collective_violation(
        input int chip, input int port, input longint cycle
    );
    int rate;
    longint stall_from;
    longint stall_to;
    reg waiting;
    reg [544:0] offered;

    function automatic [7:0] noise(input [31:0] now);
        bit [31:0] h;
        h = (now * 32'h9E3779B1) ^ (32'(CHIP * 16 + PORT) * 32'h85EBCA77);
        h = h ^ (h >> 15);
        h = h * 32'hC2B2AE3D;
        h = h ^ (h >> 13);
        return h[7:0];
    endfunction

    assign ready = !(rate != 0 && 32'(noise(cycle[31:0])) < rate)
        && !(longint'(cycle) >= stall_from && longint'(cycle) < stall_to);

    always @(posedge clk) begin
        if (!enable) begin
            waiting <= 0;
            collective_stalls(CHIP, rate, stall_from, stall_to);
        end else begin
            if (valid && ready)
                collective_memory_write(CHIP, longint'(cycle), int'(address), int'(bytes), data);
            if (waiting && (!valid || offered != {address, bytes, data}))
                collective_violation(CHIP, PORT, longint'(cycle));
            waiting <= valid && !ready;
            offered <= {address, bytes, data};
        end
    end
endmodule

// Offers a chip's descriptors in order, each from its own clock on, and records what becomes of them.
module collective_host #(
    parameter int CHIP = 0,
    parameter int WIDTH = 1,
    parameter int LINKS = 1
) (
    input  wire             clk,
    input  wire             enable,
    input  wire [63:0]      cycle,
    output wire             valid,
    input  wire             ready,
    output wire [WIDTH-1:0] payload,
    input  wire             complete,
    input  wire [LINKS-1:0] peer_idle,
    input  wire [2:0]       error,
    input  wire [3:0]       error_link,
    output reg              finished
);
    import "DPI-C" function int collective_descriptor(
        input int chip, input int index, output longint ready_from, output bit [2047:0] payload
    );
    import "DPI-C" function void collective_event(
        input int chip, input longint cycle, input int what, input int value
    );
    longint ready_from;
    int number;
    int completed;
    int total;
    bit [2047:0] item;
    reg [WIDTH-1:0] descriptor;
    reg exists;
    reg [LINKS-1:0] last_idle;

    assign payload = descriptor;
    assign valid = exists && longint'(cycle) >= ready_from;

    always @(posedge clk) begin
        if (!enable) begin
            number    = 0;
            completed = 0;
            total = collective_descriptor(CHIP, 0, ready_from, item);
            exists     <= total != 0;
            descriptor <= item[WIDTH-1:0];
            finished   <= 0;
            last_idle  <= '1;
        end else begin
            if (valid && ready) begin
                collective_event(CHIP, longint'(cycle), 0, number);
                number = number + 1;
                exists     <= number < total;
                void'(collective_descriptor(CHIP, number, ready_from, item));
                descriptor <= item[WIDTH-1:0];
            end
            if (peer_idle != last_idle)
                collective_event(CHIP, longint'(cycle), 2, int'(peer_idle));
            last_idle <= peer_idle;
            if (complete) begin
                collective_event(CHIP, longint'(cycle), 1, completed);
                completed = completed + 1;
            end
            if (!finished && error != 0)
                collective_event(CHIP, longint'(cycle), 3, int'({error_link, error}));
            finished <= finished || error != 0 || completed == total;
        end
    end
endmodule

// Records the last clock of a run.
module collective_end (
    input wire        clk,
    input wire        sample,
    input wire [63:0] cycle
);
    import "DPI-C" function void collective_finish(input longint cycle);
    always @(posedge clk) if (sample) collective_finish(longint'(cycle));
endmodule

// Records the counters of a link end when the run ends.
module collective_counters #(
    parameter int CHIP = 0,
    parameter int LINK = 0
) (
    input wire         clk,
    input wire         sample,
    input wire [287:0] counters
);
    import "DPI-C" function void collective_count(
        input int chip, input int link, input bit [287:0] counters
    );
    always @(posedge clk) if (sample) collective_count(CHIP, LINK, counters);
endmodule

`default_nettype wire

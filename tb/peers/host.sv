// The host of a chip: it gives the engine its work, and records what becomes of it.

`default_nettype none

// Offers a chip's descriptors in order, each from its own clock on, and records what becomes of them.
module recspeed_host #(
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
    import "DPI-C" function int recspeed_descriptor(
        input int chip, input int index, output longint ready_from, output bit [2047:0] payload
    );
    import "DPI-C" function void recspeed_event(
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
            total = recspeed_descriptor(CHIP, 0, ready_from, item);
            exists     <= total != 0;
            descriptor <= item[WIDTH-1:0];
            finished   <= 0;
            last_idle  <= '1;
        end else begin
            if (valid && ready) begin
                recspeed_event(CHIP, longint'(cycle), 0, number);
                number = number + 1;
                exists     <= number < total;
                void'(recspeed_descriptor(CHIP, number, ready_from, item));
                descriptor <= item[WIDTH-1:0];
            end
            if (peer_idle != last_idle)
                recspeed_event(CHIP, longint'(cycle), 2, int'(peer_idle));
            last_idle <= peer_idle;
            if (complete) begin
                recspeed_event(CHIP, longint'(cycle), 1, completed);
                completed = completed + 1;
            end
            if (!finished && error != 0)
                recspeed_event(CHIP, longint'(cycle), 3, int'({error_link, error}));
            finished <= finished || error != 0 || completed == total;
        end
    end
endmodule

// Records the last clock of a run.
module recspeed_end (
    input wire        clk,
    input wire        sample,
    input wire [63:0] cycle
);
    import "DPI-C" function void recspeed_finish(input longint cycle);
    always @(posedge clk) if (sample) recspeed_finish(longint'(cycle));
endmodule

// Records the counters of a link end when the run ends.
module recspeed_counters #(
    parameter int CHIP = 0,
    parameter int LINK = 0
) (
    input wire         clk,
    input wire         sample,
    input wire [287:0] counters
);
    import "DPI-C" function void recspeed_count(
        input int chip, input int link, input bit [287:0] counters
    );
    always @(posedge clk) if (sample) recspeed_count(CHIP, LINK, counters);
endmodule

`default_nettype wire

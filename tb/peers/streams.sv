// Streams into and out of a block under test. Every peer is idle while `enable` is 0.

`default_nettype none

// Offers the items of source ID in order. Bit `cycle mod 64` of its pattern permits a new offer.
module recspeed_source #(
    parameter int ID = 0,
    parameter int WIDTH = 64
) (
    input  wire             clk,
    input  wire             enable,
    input  wire [63:0]      cycle,
    output reg              valid,
    input  wire             ready,
    output reg  [WIDTH-1:0] payload
);
    import "DPI-C" function longint recspeed_source_pattern(input int id);
    import "DPI-C" function int recspeed_source_next(input int id, output longint item);
    longint pattern;
    longint item;
    initial valid = 0;
    always @(posedge clk) begin
        if (!enable) begin
            valid <= 0;
            pattern = recspeed_source_pattern(ID);
        end else if (!valid || ready) begin
            if (pattern[cycle[5:0]] && recspeed_source_next(ID, item) != 0) begin
                valid   <= 1;
                payload <= item[WIDTH-1:0];
            end else begin
                valid <= 0;
            end
        end
    end
endmodule

// Takes and records the items of sink ID. Bit `cycle mod 64` of its pattern is its ready.
module recspeed_sink #(
    parameter int ID = 0,
    parameter int WIDTH = 512
) (
    input  wire             clk,
    input  wire             enable,
    input  wire [63:0]      cycle,
    input  wire             valid,
    output wire             ready,
    input  wire [WIDTH-1:0] payload
);
    import "DPI-C" function longint recspeed_sink_pattern(input int id);
    import "DPI-C" function void recspeed_sink_put(
        input int id, input longint cycle, input bit [511:0] item
    );
    longint pattern;
    assign ready = enable && pattern[cycle[5:0]];
    always @(posedge clk) begin
        if (!enable) pattern <= recspeed_sink_pattern(ID);
        else if (valid && ready) recspeed_sink_put(ID, longint'(cycle), 512'(payload));
    end
endmodule

// Offers beats of hashed content (streams.cpp, line "beats") as data of writes.
module recspeed_beats #(
    parameter int ID = 0
) (
    input  wire         clk,
    input  wire         enable,
    input  wire [63:0]  cycle,
    output reg          valid,
    input  wire         ready,
    output reg  [127:0] payload
);
    import "DPI-C" function longint recspeed_beats_pattern(input int id);
    import "DPI-C" function int recspeed_beats_next(input int id, output bit [127:0] beat);
    longint pattern;
    bit [127:0] beat;
    initial valid = 0;
    always @(posedge clk) begin
        if (!enable) begin
            valid <= 0;
            pattern = recspeed_beats_pattern(ID);
        end else if (!valid || ready) begin
            if (pattern[cycle[5:0]] && recspeed_beats_next(ID, beat) != 0) begin
                valid   <= 1;
                payload <= beat;
            end else begin
                valid <= 0;
            end
        end
    end
endmodule

`default_nettype wire

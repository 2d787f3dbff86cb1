// Peers of a block under test that run at the speed of the simulation: each calls C++ (peers.cpp)
// through DPI, so that no Python runs in the cycle loop. Every peer is idle while `enable` is 0.

`default_nettype none

// Loads run number `index` when `load` is 1, writes its outputs when `store` is 1.
module recspeed_session (
    input wire        clk,
    input wire        load,
    input wire        store,
    input wire [31:0] index
);
    import "DPI-C" function void recspeed_load(input int index);
    import "DPI-C" function void recspeed_store();
    always @(posedge clk) begin
        if (load) recspeed_load(int'(index));
        if (store) recspeed_store();
    end
endmodule

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

// Offers beats of hashed content (peers.cpp, "beats" line) as data of writes.
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

// One channel of DRAM: logs every command, stores what is written, returns the beats of a read
// TCL clocks later. It checks nothing: that is the checkers' business.
module recspeed_dram #(
    parameter int ID = 0,
    parameter int TCL = 20,
    parameter int BEATS = 2
) (
    input  wire         clk,
    input  wire         enable,
    input  wire [63:0]  cycle,
    input  wire         row_valid,
    input  wire         row_refresh,
    input  wire         row_per_bank,
    input  wire [7:0]   row_bank,
    input  wire [31:0]  row_address,
    input  wire         column_valid,
    input  wire         column_write,
    input  wire         column_precharge,
    input  wire [7:0]   column_bank,
    input  wire [15:0]  column_address,
    input  wire         write_valid,
    input  wire [127:0] write_data,
    output reg          data_valid,
    output reg  [127:0] data
);
    import "DPI-C" function void recspeed_dram_row(
        input int id, input longint cycle, input int kind, input int bank, input int row
    );
    import "DPI-C" function void recspeed_dram_column(
        input int id, input longint cycle, input int write, input int precharge, input int bank,
        input int column
    );
    import "DPI-C" function void recspeed_dram_store(input int id, input bit [127:0] beat);
    import "DPI-C" function void recspeed_dram_beat(input int id, output bit [127:0] beat);
    localparam int DEPTH = TCL + BEATS;
    reg [DEPTH-1:0] due;
    wire [DEPTH-1:0] new_beats = DEPTH'((1 << BEATS) - 1) << (TCL - 2);
    initial data_valid = 0;
    always @(posedge clk) begin
        if (!enable) begin
            due        <= '0;
            data_valid <= 0;
        end else begin
            if (row_valid)
                recspeed_dram_row(ID, longint'(cycle), row_refresh ? (row_per_bank ? 2 : 1) : 0,
                                  int'(row_bank), int'(row_address));
            if (column_valid)
                recspeed_dram_column(ID, longint'(cycle), int'(column_write),
                                     int'(column_precharge), int'(column_bank),
                                     int'(column_address));
            if (write_valid) recspeed_dram_store(ID, write_data);
            due        <= (due >> 1) | (column_valid && !column_write ? new_beats : '0);
            data_valid <= due[0];
            if (due[0]) recspeed_dram_beat(ID, data);
        end
    end
endmodule

`default_nettype wire

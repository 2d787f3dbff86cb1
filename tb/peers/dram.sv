// DRAM at a front-end's bus.

`default_nettype none

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

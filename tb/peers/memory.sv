// The buffers of a chip, at the ports of its engine.

`default_nettype none

// A read port of a chip's buffers.
module recspeed_read #(
    parameter int CHIP = 0
) (
    input  wire         clk,
    input  wire         enable,
    input  wire [25:0]  address,
    output reg  [511:0] data
);
    import "DPI-C" function void recspeed_memory_read(
        input int chip, input int address, output bit [511:0] data
    );
    bit [511:0] line;
    always @(posedge clk) begin
        if (enable) begin
            recspeed_memory_read(CHIP, int'(address), line);
            data <= line;
        end
    end
endmodule

// A write port of a chip's buffers; not ready in the stalls of the run. Checks the stream law.
module recspeed_write #(
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
    import "DPI-C" function void recspeed_memory_write(
        input int chip, input longint cycle, input int address, input int bytes,
        input bit [511:0] data
    );
    import "DPI-C" function void recspeed_stalls(
        input int chip, output int rate, output longint stall_from, output longint stall_to
    );
    import "DPI-C" function void recspeed_violation(
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
            recspeed_stalls(CHIP, rate, stall_from, stall_to);
        end else begin
            if (valid && ready)
                recspeed_memory_write(CHIP, longint'(cycle), int'(address), int'(bytes), data);
            if (waiting && (!valid || offered != {address, bytes, data}))
                recspeed_violation(CHIP, PORT, longint'(cycle));
            waiting <= valid && !ready;
            offered <= {address, bytes, data};
        end
    end
endmodule

`default_nettype wire

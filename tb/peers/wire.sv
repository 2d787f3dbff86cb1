// What is between two engines: one direction of a link.

`default_nettype none

// One direction of a link: a delay of LATENCY clocks, faults on chosen flits, and the checker's eyes.
module recspeed_wire #(
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
    import "DPI-C" function void recspeed_wire_begin(
        input int id, output longint next_fault, output longint dead_from
    );
    import "DPI-C" function longint recspeed_wire_fault(
        input int id, input longint cycle, input bit [543:0] flit, output bit [543:0] changed,
        output int copies
    );
    import "DPI-C" function void recspeed_check_sent(
        input int id, input int back, input longint cycle, input bit [543:0] flit
    );
    import "DPI-C" function void recspeed_check_delivered(
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
            recspeed_wire_begin(ID, next_fault, dead_from);
        end else begin
            out = tx;
            if (tx[2:0] != 0) begin
                recspeed_check_sent(ID, BACK, longint'(cycle), tx);
                if (ordinal == next_fault) begin
                    next_fault = recspeed_wire_fault(ID, longint'(cycle), tx, out, copies);
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
            if (rx[2:0] != 0) recspeed_check_delivered(ID, BACK, longint'(cycle), rx);
        end
    end
endmodule

`default_nettype wire

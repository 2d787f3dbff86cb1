// Where a run begins and ends. All peers run at the speed of the simulation and call C++ through DPI,
// so that no Python runs in the cycle loop; what is in a run's folder is written in session.cpp.

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

`default_nettype wire

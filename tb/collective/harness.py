"""Writes the testbench of n engines: between and around them wires, buffers and hosts."""

from pathlib import Path

from recspeed.models.spec.link import LinkParameters
from recspeed.rtl.collective.descriptor import descriptor_layout
from recspeed.rtl.collective.engine import engine_verilog
from recspeed.tb.collective.control import TOPLEVEL, Control, wire_number
from recspeed.tb.simulator.design import Design
from recspeed.tb.simulator.layouts import plain_layout


def link_of(rank: int, peer: int) -> int:
    """Link of `rank` that leads to `peer`."""
    return peer - (peer > rank)


def _chip(rank: int, chips: int) -> list[str]:
    """Instances of one engine and what surrounds it, except the wires."""
    links = chips - 1
    width = descriptor_layout(links).size
    connections = [
        ".clk(clk)",
        ".rst(!enable)",
        f".rank(4'd{rank})",
    ]
    declarations: list[str] = []
    instances: list[str] = []

    def wire(name: str, bits: int, port: str) -> str:
        signal = f"{name}_{rank}"
        declarations.append(f"wire [{bits - 1}:0] {signal};")
        connections.append(f".{port}({signal})")
        return signal

    def memory(prefix: str, port: str, number: int) -> None:
        reading, writing = port.format("read"), port.format("write")
        read = [
            f".{field}({wire(f'{prefix}_r_{field}', bits, f'{reading}__{field}')})"
            for field, bits in (("enable", 1), ("address", 26), ("data", 512))
        ]
        instances.append(
            f"recspeed_read #(.CHIP({rank})) {prefix}_reader_{rank} (.clk(clk), "
            + ", ".join(read)
            + ");"
        )
        write = [
            f".{field}({wire(f'{prefix}_w_{field}', bits, f'{writing}__{field}')})"
            for field, bits in (
                ("valid", 1),
                ("ready", 1),
                ("address", 26),
                ("bytes", 7),
                ("data", 512),
            )
        ]
        instances.append(
            f"recspeed_write #(.CHIP({rank}), .PORT({number})) {prefix}_writer_{rank} "
            f"(.clk(clk), .enable(enable), .cycle(cycle), {', '.join(write)});"
        )

    memory("local", "local_{}", 15)
    for link in range(links):
        wire(f"tx_{link}", 544, f"tx__{link}")
        wire(f"rx_{link}", 544, f"rx__{link}")
        memory(f"link_{link}", f"{{}}__{link}", link)
        counters = wire(f"counters_{link}", 288, f"counters__{link}")
        instances.append(
            f"recspeed_counters #(.CHIP({rank}), .LINK({link})) count_{rank}_{link} "
            f"(.clk(clk), .sample(sample), .counters({counters}));"
        )
    host = [
        f".{field}({wire(f'host_{field}', bits, port)})"
        for field, bits, port in (
            ("valid", 1, "descriptor__valid"),
            ("ready", 1, "descriptor__ready"),
            ("payload", width, "descriptor__payload"),
            ("complete", 1, "complete"),
            ("peer_idle", links, "peer_idle"),
            ("error", 3, "error"),
            ("error_link", 4, "error_link"),
        )
    ]
    instances.append(
        f"recspeed_host #(.CHIP({rank}), .WIDTH({width}), .LINKS({links})) host_{rank} "
        f"(.clk(clk), .enable(enable), .cycle(cycle), .finished(finished[{rank}]), "
        + ", ".join(host)
        + ");"
    )
    instances.append(f"collective_engine engine_{rank} ({', '.join(connections)});")
    return declarations + instances


def top_module(chips: int, latency: int) -> str:
    """SystemVerilog of the testbench's top module, `collective_top`.

    It has the ports of every harness. `cycle` counts from the first clock in which RUN is seen set.
    `done` rises QUIESCE clocks after every chip has finished, or in clock LIMIT. Broken stream laws
    are events of the run.
    """
    body: list[str] = []
    for rank in range(chips):
        body += _chip(rank, chips)
    for source in range(chips):
        for target in range(chips):
            if source == target:
                continue
            body.append(
                f"recspeed_wire #(.ID({wire_number(source, target, chips)}), "
                f".BACK({wire_number(target, source, chips)}), .LATENCY({latency})) "
                f"wire_{source}_{target} (.clk(clk), .enable(enable), .cycle(cycle), "
                f".tx(tx_{link_of(source, target)}_{source}), "
                f".rx(rx_{link_of(target, source)}_{target}));"
            )
    lines = [
        "`default_nettype none",
        f"module {TOPLEVEL} (",
        "    input wire clk, input wire rst, input wire load, input wire store,",
        "    input wire [31:0] index, input wire write, input wire [11:0] address,",
        "    input wire [63:0] write_data, output wire [63:0] read_data,",
        "    output wire [31:0] law_violations, output reg done",
        ");",
        "reg enable;",
        "reg [63:0] cycle, limit;",
        "reg [31:0] waited, quiesce;",
        f"wire [{chips - 1}:0] finished;",
        "wire sample = enable && !done && ((&finished && waited == quiesce) || cycle == limit);",
        "assign read_data = 0;",
        "assign law_violations = 0;",
        "recspeed_session session (.clk(clk), .load(load), .store(store), .index(index));",
        "recspeed_end the_end (.clk(clk), .sample(sample), .cycle(cycle));",
        "always @(posedge clk) begin",
        "    if (rst) enable <= 0;",
        "    else if (write) case (address)",
        f"        {Control.RUN.value}: enable <= write_data[0];",
        f"        {Control.QUIESCE.value}: quiesce <= write_data[31:0];",
        f"        {Control.LIMIT.value}: limit <= write_data;",
        "        default: ;",
        "    endcase",
        "    if (!enable) begin cycle <= 0; done <= 0; waited <= 0; end",
        "    else if (!done) begin",
        "        cycle <= cycle + 1;",
        "        if (&finished) waited <= waited + 1;",
        "        done <= sample;",
        "    end",
        "end",
        *body,
        "endmodule",
        "`default_nettype wire",
    ]
    return "\n".join(lines) + "\n"


def write_design(folder: Path, link: LinkParameters, chips: int) -> Design:
    """Leave the generated text of a system of `chips` engines in `folder`."""
    engine = folder / "collective_engine.v"
    engine.write_text(engine_verilog(link, chips, simulation=True))
    top = folder / f"{TOPLEVEL}.sv"
    top.write_text(top_module(chips, link.latency))
    return Design([engine, top], {"descriptor": plain_layout(descriptor_layout(chips - 1))})

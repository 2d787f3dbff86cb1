"""Emit a repeated component once: in place of each copy stands an instance of one module.

Amaranth writes one module per component in the design. Here the components of an elaborated design
are compared by class and parameters; where two or more are equal, one becomes a module of its own,
with the ports of its signature, and all of them become instances of it.

A component keeps the parameters of its constructor under their names, with or without a leading
underscore. One that does not, or whose parameters hold signals, is emitted as Amaranth does, as are
the components in what a transformer (`DomainRenamer`) has changed.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import (
    ClockSignal,
    Elaboratable,
    Fragment,
    Instance,
    ResetSignal,
    Value,
    ValueCastable,
)
from amaranth.hdl._ir import Design, PortDirection
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

__all__ = ["EmittedModule", "modules_of", "ports_of"]


@dataclass(frozen=True)
class EmittedModule:
    """One module to write: its name, the (first) component that it is, and what it consists of."""

    name: str
    component: wiring.Component
    design: Design


@dataclass
class _Kind:
    """Equal components: the first one, what it was elaborated to, and how many there are."""

    first: wiring.Component
    fragment: Fragment
    parameters: dict[str, Any]
    count: int = 1
    module: str = ""
    copies: list[wiring.Component] = field(default_factory=list)
    design: Design | None = None


def modules_of(component: wiring.Component, name: str) -> list[EmittedModule]:
    """The modules of `component` as module `name`: itself, then those that it has instances of.

    A repeated module is named `name` and the class of the component, numbered from the second set
    of parameters of a class on, in the order of the design's submodules.

    Raises
    ------
    ValueError
        When a signal of a repeated component is used outside of it and is none of its ports: an
        instance has no such signal.
    """
    fragment = Fragment.get(component, None)
    kinds: list[_Kind] = []
    _count(fragment, kinds)
    repeated = [kind for kind in kinds if kind.count > 1]
    numbers: dict[str, int] = {}
    for kind in repeated:
        module = f"{name}_{_snake_case(type(kind.first).__name__)}"
        numbers[module] = numbers.get(module, 0) + 1
        kind.module = module if numbers[module] == 1 else f"{module}_{numbers[module]}"
    _replace(fragment, repeated)
    modules = [EmittedModule(name, component, _design(component, fragment, name))]
    for kind in repeated:
        assert kind.design is not None
        modules.append(EmittedModule(kind.module, kind.first, kind.design))
    _check_borders(modules)
    return modules


def ports_of(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Value and direction of every port of `component` that has bits."""
    ports = {}
    for path, member, held in component.signature.flatten(component):
        value = Value.cast(held)
        if len(value):
            flow = PortDirection.Input if member.flow == wiring.In else PortDirection.Output
            ports["__".join(str(part) for part in path)] = (value, flow)
    return ports


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _design(component: wiring.Component, fragment: Fragment, name: str) -> Design:
    return fragment.prepare(ports=ports_of(component), hierarchy=(name,))


def _component(fragment: Fragment) -> wiring.Component | None:
    """The component that was elaborated to `fragment`."""
    origin = fragment.origins[0] if fragment.origins else None
    return origin if isinstance(origin, wiring.Component) else None


def _children(fragment: Fragment) -> Iterator[tuple[int, Fragment]]:
    """Number and fragment of every submodule that is as its component was elaborated."""
    for number, (child, _, _) in enumerate(fragment.subfragments):
        if child.origins and type(child.origins[0]).__name__ == "TransformedElaboratable":
            continue
        yield number, child


def _parameters(component: wiring.Component) -> dict[str, Any] | None:
    """The constructor's parameters, or None where not all are known or one holds hardware."""
    if isinstance(component, Memory):  # Its ports are no members of its signature.
        return None
    parameters = {}
    if type(component).__init__ is wiring.Component.__init__:
        return parameters
    held = vars(component)
    for name in list(inspect.signature(type(component).__init__).parameters)[1:]:
        value = held.get(f"_{name}", held.get(name, component))
        if isinstance(value, Elaboratable | Value | ValueCastable) or hasattr(value, "signature"):
            return None
        parameters[name] = value
    return parameters


def _kind_of(component: wiring.Component, kinds: list[_Kind]) -> _Kind | None:
    """The kind among `kinds` that `component` is of."""
    parameters = _parameters(component)
    for kind in kinds:
        if type(kind.first) is type(component) and kind.parameters == parameters:
            return kind
    return None


def _count(fragment: Fragment, kinds: list[_Kind]) -> None:
    """Count the components under `fragment` by kind; what a second copy contains is the same."""
    for _, child in _children(fragment):
        component = _component(child)
        kind = component and _kind_of(component, kinds)
        if kind:
            kind.count += 1
            continue
        parameters = component and _parameters(component)
        if component is not None and parameters is not None:
            kinds.append(_Kind(component, child, parameters))
        _count(child, kinds)


def _replace(fragment: Fragment, kinds: list[_Kind]) -> None:
    """Put instances where components of `kinds` are under `fragment`."""
    for number, child in _children(fragment):
        component = _component(child)
        kind = component and _kind_of(component, kinds)
        if not component or not kind:
            _replace(child, kinds)
            continue
        if kind.design is None:
            _replace(kind.fragment, kinds)
            kind.design = _design(kind.first, kind.fragment, kind.module)
        _, name, source = fragment.subfragments[number]
        fragment.subfragments[number] = (_instance(kind, component), name, source)


def _instance(kind: _Kind, component: wiring.Component) -> Instance:
    """`component` as an instance of the module of `kind`."""
    assert kind.design is not None
    ports = ports_of(component)
    connections = []
    for name, _, direction in kind.design.ports:
        if name in ports:
            value = ports[name][0]
        else:  # Clock or reset of a domain: `clk` of sync, `NAME_clk` of any other.
            domain = name[:-3].rstrip("_") or "sync"
            value = ClockSignal(domain) if name.endswith("clk") else ResetSignal(domain)
        connections.append(("i" if direction is PortDirection.Input else "o", name, value))
    return Instance(kind.module, *connections)


def _check_borders(modules: list[EmittedModule]) -> None:
    """No module uses signals of another one's component but its ports."""
    users: dict[int, EmittedModule] = {}
    ports = {id(value) for module in modules for value, _ in ports_of(module.component).values()}
    for module in modules:
        for signal in module.design.signal_lca:
            other = users.setdefault(id(signal), module)
            if other is not module and id(signal) not in ports:
                raise ValueError(
                    f"{module.name} is emitted once, but its signal {signal.name!r} is also used "
                    f"in {other.name} and is no port"
                )

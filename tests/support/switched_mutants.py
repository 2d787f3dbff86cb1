"""Many faults in one design, of which a number picks one while it is simulated.

Each `Mutant` changes a piece of a method's source. Here the syntax trees of the method as it is and
as the mutant has it are compared, and the smallest expression in which they differ is compiled in
both forms: `Mux(picked, broken, right)` where it is hardware; a `Choice` where it is a number that
hardware is made from. With no fault picked (number 0) the design is the real one.

What can be switched at no place (`NotSwitchableError`) is left out, and simulated by itself.
"""

import ast
import copy
import gc
import inspect
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest
from amaranth.hdl import (
    Fragment,
    Instance,
    Module,
    Mux,
    Signal,
    UnusedElaboratable,
    Value,
    ValueCastable,
)
from amaranth.lib import data, wiring

from recspeed.rtl.lib.timer import Timer
from support.mutation import Mutant
from support.switched_numbers import Choice, NotSwitchableError, largest
from support.verilated import FAULT_BITS, FAULT_MODULE, VerilatedDesign

Step = tuple[str, int | None]
Path = tuple[Step, ...]
"""Fields, and places in lists, from the root of a syntax tree to a node."""


class Picks:
    """Which fault is picked, in the component that is being elaborated."""

    def __init__(self) -> None:
        self.numbers: list[Signal] = []

    def is_picked(self, fault: int) -> Value:
        """1 when fault number `fault` is picked."""
        return self.numbers[-1] == fault

    def pick(
        self, wider: bool, right: Callable[[], object], *broken: tuple[int, Callable[[], object]]
    ):
        """What `right` gives, and under each fault what is given with its number.

        With `wider` the result may have more bits than `right`, or a sign.
        """
        result = right()
        for fault, make in broken:
            result = self._either(fault, make(), result, wider)
        return result

    def _either(self, fault: int, broken, right, wider: bool):
        """One of the two."""
        numbers = (int, Choice)
        if isinstance(broken, numbers) and isinstance(right, numbers):
            return Choice.of(self.is_picked, right, fault, broken)
        if isinstance(right, data.View) and isinstance(broken, data.View):
            if right.shape() != broken.shape():
                raise NotSwitchableError(fault)
            picked = Mux(self.is_picked(fault), Value.cast(broken), Value.cast(right))
            return right.shape()(picked)
        if all(isinstance(one, int | Value | ValueCastable) for one in (right, broken)):
            either = Mux(self.is_picked(fault), broken, right)
            if wider or either.shape() == Value.cast(right).shape():
                return either
        raise NotSwitchableError(fault)


@dataclass
class Site:
    """Where a mutant's method differs from the one as it is."""

    number: int
    mutant: Mutant
    broken: ast.Module
    path: Path
    """To the smallest node that differs; an outer one where that cannot be switched."""


@dataclass(frozen=True)
class SwitchedDesign:
    """A design with faults in it.

    Attributes
    ----------
    design : VerilatedDesign
    numbers : dict of Mutant to int
        Of the faults that are in it.
    left_out : tuple of Mutant
        Those that cannot be switched.
    """

    design: VerilatedDesign
    numbers: dict[Mutant, int]
    left_out: tuple[Mutant, ...]


def source_tree(mutant: Mutant, *, broken: bool) -> ast.Module:
    """The syntax tree of the mutant's method."""
    raw = inspect.getattr_static(mutant.owner, mutant.method)
    source = textwrap.dedent(inspect.getsource(raw))
    assert source.count(mutant.old) == 1, f"{mutant.name}: text occurs {source.count(mutant.old)}x"
    return ast.parse(source.replace(mutant.old, mutant.new) if broken else source)


def difference(right: ast.AST, broken: ast.AST) -> Path | None:
    """To the smallest expression or statement that holds all differences; None if there is none."""
    if type(right) is not type(broken):
        return ()
    found: list[Path] = []
    for name, mine in ast.iter_fields(right):
        other = getattr(broken, name)
        if isinstance(mine, list) and isinstance(other, list):
            if len(mine) != len(other):
                return ()
            pairs = [
                ((name, place), *pair) for place, pair in enumerate(zip(mine, other, strict=True))
            ]
        else:
            pairs = [((name, None), mine, other)]
        for step, one, two in pairs:
            if not isinstance(one, ast.AST) or not isinstance(two, ast.AST):
                if one != two:
                    return ()
                continue
            below = difference(one, two)
            if below is not None:
                found.append((step, *below))
    if not found:
        return None
    return found[0] if len(found) == 1 else ()


def _set_never(right: ast.Module, broken: ast.Module) -> None:
    """Where a fault leaves out `timer.set(when, clocks)`, write that it is never set."""
    path = difference(right, broken)
    if path and isinstance(node_at(broken, path), ast.Pass):
        kept = copy.deepcopy(node_at(right, path))
        call = getattr(kept, "value", None)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".set"):
            call.args[0] = ast.Constant(0)
            name, place = path[-1]
            getattr(node_at(broken, path[:-1]), name)[place] = kept


def node_at(tree: ast.AST, path: Path) -> ast.AST:
    """The node at the end of `path`."""
    for name, place in path:
        tree = getattr(tree, name)
        if place is not None:
            tree = tree[place]
    return tree


def switchable(tree: ast.AST, path: Path) -> Path | None:
    """The innermost node on `path` that can be given in two forms; None if there is none.

    That is an expression, or the statement that adds to a domain where lists of assignments differ
    or what is assigned to.
    """
    for place in range(1, len(path)):
        node = node_at(tree, path[:place])
        if _assigns(node) and path[place : place + 1] == (("func", None),):
            path = path[: place - 1]
            break
    while path:
        node = node_at(tree, path)
        if isinstance(node, ast.AugAssign) and _domain(node.target):
            return path
        hardware = isinstance(node, ast.expr) and not isinstance(node, ast.List | ast.Slice)
        if hardware and not _assigns(node):
            return path
        path = path[:-1]
    return None


WIDENING = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
"""Operators that have the same result where an operand has more bits of the same value."""


def may_be_wider(tree: ast.AST, path: Path) -> bool:
    """Whether the node's value alone counts up to where it is assigned, compared or a condition."""
    for place in reversed(range(len(path))):
        node, (name, _) = node_at(tree, path[:place]), path[place]
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, WIDENING):
            continue
        if isinstance(node, ast.Call) and name == "args":
            if isinstance(node.func, ast.Name) and node.func.id == "Mux":
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            return called in ("eq", "set", "If", "Elif")
        return False
    return False


def _assigns(node: ast.AST) -> bool:
    """Whether that is `something.eq(...)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "eq"
    )


def _domain(target: ast.AST) -> bool:
    """Whether that is `m.d.comb` or `m.d.sync`."""
    return isinstance(target, ast.Attribute) and ast.unparse(target).startswith("m.d.")


class _Switcher:
    """Writes both forms into the tree of one method."""

    def __init__(self, sites: Sequence[Site]):
        self.sites = sites
        self.right = source_tree(sites[0].mutant, broken=False)

    def written(self, node: ast.AST, path: Path = ()) -> ast.AST:
        """`node` with every site at it or below it switched."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                changed = []
                for place, one in enumerate(value):
                    new = one
                    if isinstance(one, ast.AST):
                        new = self.written(one, (*path, (name, place)))
                    changed += new if isinstance(new, list) else [new]
                setattr(node, name, changed)
            elif isinstance(value, ast.AST):
                setattr(node, name, self.written(value, (*path, (name, None))))
        here = [site for site in self.sites if site.path == path]
        if not here:
            return node
        if isinstance(node, ast.expr):
            return self._expression(node, here)
        return self._statement(node, here)

    def _expression(self, right: ast.expr, here: Sequence[Site]) -> ast.expr:
        def later(node: ast.expr) -> ast.expr:
            nothing = ast.arguments(
                posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
            )
            return ast.Lambda(args=nothing, body=node)

        broken = []
        for site in here:
            node = node_at(site.broken, site.path)
            assert isinstance(node, ast.expr), site.mutant.name
            number = ast.Constant(site.number)
            broken.append(ast.Tuple(elts=[number, later(node)], ctx=ast.Load()))
        wider = ast.Constant(may_be_wider(self.right, here[0].path))
        picks = ast.Attribute(ast.Name("_picks", ast.Load()), "pick", ast.Load())
        return ast.Call(func=picks, args=[wider, later(right), *broken], keywords=[])

    @staticmethod
    def _statement(right: ast.AST, here: Iterable[Site]) -> ast.AST:
        """`with m.If(...): broken` and `with m.Else(): right`, one in the other."""
        text = ast.unparse(right)
        for site in here:
            broken = ast.unparse(node_at(site.broken, site.path))
            text = "\n".join(
                [
                    f"with m.If(_picks.is_picked({site.number})):",
                    textwrap.indent(broken, "    "),
                    "with m.Else():",
                    textwrap.indent(text, "    "),
                ]
            )
        return ast.parse(text).body  # type: ignore[return-value]: a module's body is statements


def _compiled(owner: type, method: str, sites: Sequence[Site], picks: Picks):
    """The method with its sites switched."""
    tree = source_tree(sites[0].mutant, broken=False)
    tree = ast.fix_missing_locations(_Switcher(sites).written(tree))
    scope = dict(vars(sys.modules[owner.__module__]), _picks=picks)
    body = textwrap.indent(ast.unparse(tree), "    ")
    exec(compile(f"class Mutated:\n{body}", f"<{owner.__name__}.{method}>", "exec"), scope)
    return inspect.getattr_static(scope["Mutated"], method)


def _with_number(elaborate: Callable, picks: Picks) -> Callable:
    """An `elaborate` whose module has the number of the picked fault."""

    def changed(self, platform):
        number = Signal(FAULT_BITS, name="picked_fault")
        picks.numbers.append(number)
        try:
            m = elaborate(self, platform)
        finally:
            picks.numbers.pop()
        assert isinstance(m, Module)
        m.submodules.picked_fault = Instance(FAULT_MODULE, o_number=number)
        return m

    return changed


def _inject(monkeypatch: pytest.MonkeyPatch, sites: Sequence[Site]) -> None:
    """Put all sites in until the end of `monkeypatch`'s context."""
    picks = Picks()
    methods: dict[tuple[type, str], list[Site]] = {}
    for site in sites:
        methods.setdefault((site.mutant.owner, site.mutant.method), []).append(site)
    changed = {key: _compiled(*key, some, picks) for key, some in methods.items()}
    for (owner, method), function in changed.items():
        monkeypatch.setattr(owner, method, function)
    for owner in {owner for owner, _ in changed}:
        monkeypatch.setattr(owner, "elaborate", _with_number(owner.elaborate, picks))
        monkeypatch.setattr(sys.modules[owner.__module__], "max", largest, raising=False)
    _inject_into_timers(monkeypatch)


def _inject_into_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that is set to a choice of clocks is set to one of them under each fault."""
    make, set_timer = Timer.__init__, Timer.set

    def changed_make(self, limit, name):
        make(self, limit.largest if isinstance(limit, Choice) else limit, name)

    def changed_set(self, when, clocks):
        if not isinstance(clocks, Choice):
            set_timer(self, when, clocks)
            return
        if clocks.largest > 1 << len(self.count):
            self.count = Signal(range(clocks.largest), name=self.count.name)
        for condition, value in clocks.cases():
            set_timer(self, Value.cast(when).any() & condition, value)

    monkeypatch.setattr(Timer, "__init__", changed_make)
    monkeypatch.setattr(Timer, "set", changed_set)


def switched(make: Callable[[], wiring.Component], mutants: Sequence[Mutant]) -> SwitchedDesign:
    """The component of `make`, built with all faults in it that can be switched."""
    left_out = {}
    sites = []
    for number, mutant in enumerate(mutants, 1):
        right, broken = (source_tree(mutant, broken=broken) for broken in (False, True))
        _set_never(right, broken)
        path = difference(right, broken)
        assert path is not None, f"{mutant.name}: changes nothing"
        sites.append(Site(number, mutant, broken, path))
    while True:
        for site in sites:
            path = switchable(source_tree(site.mutant, broken=False), site.path)
            if path is None:
                left_out[site.mutant] = site.number
            else:
                site.path = path
        sites = [site for site in sites if site.mutant not in left_out]
        with pytest.MonkeyPatch.context() as monkeypatch:
            _inject(monkeypatch, sites)
            try:
                Fragment.get(make(), None)
            except NotSwitchableError as error:
                (culprit,) = (site for site in sites if site.number == error.args[0])
            else:
                numbers = {site.mutant: site.number for site in sites}
                return SwitchedDesign(VerilatedDesign(make()), numbers, tuple(left_out))
        culprit.path = culprit.path[:-1]
        _forget_unused()


def _forget_unused() -> None:
    """Without a warning for each component that was not elaborated to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        gc.collect()

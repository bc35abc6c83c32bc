"""A network's places as a config says them: layers with `reads`, `before` and `after`, or also a `graph`.

A place is where a convolution stands in the network; places with equal problems are one layer with a
count (docs/configs.md, "The graph").
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from convscope_report.configs_from.config_file import Layer, merged, place_fields, unique


def is_pool(operation: str | int) -> bool:
    """Say whether an operation is a pool, of the maximum or of the mean."""
    return isinstance(operation, str) and operation.startswith(("pool ", "mean "))


class Read(NamedTuple):
    """An output that is read: its place, and the pools that it is read through."""

    index: int
    through: tuple[str, ...] = ()


@dataclass
class Place:
    """A convolution where it stands: what it reads and what follows it.

    Places are numbered in the network's order, and name only those before them.
    """

    layer: Layer
    after: list[str | int] = field(default_factory=list)  # an operation; a number adds that place's output
    # Outputs that, behind one another along channels, it reads, and pools of them; none: what no place gives.
    reads: tuple[Read, ...] = ()
    before: tuple[str, ...] = ()


def joined(places: list[Place]) -> tuple[list[Layer], list[dict]]:
    """Return the layers, and the graph's entries where layers alone do not say the network."""
    names = unique([place.layer.name for place in places])
    layers = merged([replace(place.layer, name=name) for place, name in zip(places, names, strict=True)])
    entries = [Entry(place, index, names) for index, place in enumerate(places)]
    by_problem: dict[Layer, list[Entry]] = {}
    for entry in entries:
        by_problem.setdefault(entry.place.layer.problem(), []).append(entry)
    copies = [by_problem[layer.problem()] for layer in layers]
    if are_in_rows(copies):
        return [replace(layer, **same[0].own()) for layer, same in zip(layers, copies, strict=True)], []
    layers = [replace(layer, after=shared(same)) for layer, same in zip(layers, copies, strict=True)]
    layer_of = {layer.problem(): layer for layer in layers}
    return layers, [entry.text(layer_of[entry.place.layer.problem()]) for entry in entries]


class Entry:
    """A place with the names of those that it reads and adds."""

    def __init__(self, place: Place, index: int, names: list[str]):
        self.place = place
        self.index = index
        self.name = names[index]
        self.reads = () if place.reads == (Read(index - 1),) else tuple(as_read(place.reads, names))
        self.after = tuple(f"add {names[o]}" if isinstance(o, int) else o for o in place.after)

    def adds(self) -> bool:
        """Whether an output of another place is added."""
        return any(isinstance(operation, int) for operation in self.place.after)

    def own(self) -> dict:
        """Return what a layer that stands in one place says of it."""
        return {"reads": self.reads, "before": self.place.before, "after": self.after}

    def text(self, layer: Layer) -> dict:
        """Return the entry of a graph, without what it shares with its layer."""
        said = {"name": self.name}
        if layer.name != self.name:
            said["layer"] = layer.name
        said |= place_fields(self.reads, self.place.before, ())
        if self.after != layer.after:
            said["after"] = list(self.after)
        return said


def as_read(reads: tuple[Read, ...], names: list[str]) -> Iterator[str | dict]:
    """Yield what an entry says that it reads: names, and together those that go through the same pools."""
    for through, outputs in groupby(reads, lambda read: read.through):
        named = tuple(names[read.index] for read in outputs)
        if through:
            yield place_fields(named, through, ())
        else:
            yield from named


def shared(same: list[Entry]) -> tuple[str, ...]:
    """Return the layer's `after`, which entries without one have: none where nothing follows one of them."""
    if any(not entry.after for entry in same):
        return ()
    return next((entry.after for entry in same if not entry.adds()), ())


def are_in_rows(copies: list[list[Entry]]) -> bool:
    """Say whether the network is its layers in order, each as often as its count says."""
    order = [entry.index for same in copies for entry in same]
    return order == sorted(order) and all(len(same) == 1 or are_alike(same) for same in copies)


def are_alike(same: list[Entry]) -> bool:
    """Say whether the same follows each of a layer's places; its pool would follow the last alone."""
    one = same[0]
    pools = any(is_pool(operation) for operation in one.after)
    return not pools and not any(e.reads or e.place.before or e.adds() or e.after != one.after for e in same)

"""Recommendation models as workloads: embedding tables, dense layers, batch.

Source of the structure: the paper's Secs. III-D and V-A and its Table XII (DLRM-RM2). Everything
that a performance model needs of a recommendation model is derived here from its shape; nothing is
fitted.
"""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from recspeed.models.spec.frozen import Frozen, Positive

RowType = Literal["fp32", "fp16", "int8", "int4"]
Interaction = Literal["dot", "concat", "dcn"]

FILL_MEMORY = "fill"
ACTIVATION_BYTES = 2
"""Activations, dense parameters and pooled vectors are FP16 (paper Sec. V-A)."""


def row_bytes(dimension: int, dtype: RowType) -> int:
    """Bytes of one embedding row as it lies in memory.

    int8 and int4 rows carry an FP16 scale and an FP16 bias, as inference libraries store them; two
    int4 values share a byte.
    """
    match dtype:
        case "fp32":
            return 4 * dimension
        case "fp16":
            return 2 * dimension
        case "int8":
            return dimension + 4
        case "int4":
            return -(-dimension // 2) + 4


class TableGroup(Frozen):
    """`count` embedding tables of equal shape.

    `rows` is a number, or "fill": as many rows as the system's memory holds, which is the paper's
    assumption where the size of a production model is not public (Sec. V-A). `lookups` is the
    mean pooling factor: lookups per table and sample.
    """

    count: Positive = 1
    rows: Annotated[int, Field(gt=0, le=1 << 40)] | Literal["fill"] = FILL_MEMORY
    dimension: Annotated[int, Field(gt=0, le=1 << 16)]
    lookups: Annotated[float, Field(gt=0, le=1e9)]
    dtype: RowType = "fp16"

    @property
    def row_bytes(self) -> int:
        """Bytes of one row, scale and bias included."""
        return row_bytes(self.dimension, self.dtype)

    @property
    def pooled_bytes(self) -> int:
        """Bytes of one pooled vector on the wire (FP16)."""
        return self.dimension * ACTIVATION_BYTES


class CrossNetwork(Frozen):
    """The low-rank cross layers of DCNv2: each multiplies by two matrices of `rank` columns."""

    layers: Positive
    rank: Positive


class Workload(Frozen):
    """One recommendation model and the batch that it serves or trains on.

    `bottom_mlp` and `top_mlp` list the widths after their inputs, as in the paper's
    "256-128-32-d" without the leading number of dense features. `skew` is the exponent s of a
    Zipf-like access distribution over the rows of a table; 0 is the paper's stream without
    locality. Index width is in bytes.
    """

    name: str
    title: str
    tables: Annotated[tuple[TableGroup, ...], Field(min_length=1)]
    batch: Annotated[int, Field(gt=0, le=1 << 40)]
    dense_features: Positive
    bottom_mlp: Annotated[tuple[Positive, ...], Field(min_length=1)]
    top_mlp: Annotated[tuple[Positive, ...], Field(min_length=1)]
    interaction: Interaction = "dot"
    keep_diagonal: bool = False
    cross: CrossNetwork | None = None
    index_bytes: Literal[4, 8] = 4
    skew: Annotated[float, Field(ge=0, lt=1)] = 0.0
    sources: dict[str, str] = {}

    @model_validator(mode="after")
    def _consistent(self) -> "Workload":
        bottom = self.bottom_mlp[-1]
        dimensions = sorted({group.dimension for group in self.tables})
        if self.interaction == "dot" and dimensions != [bottom]:
            raise ValueError(
                f"interaction = 'dot' multiplies vectors of one length, but bottom_mlp ends at"
                f" {bottom} and the tables have dimension {', '.join(map(str, dimensions))}"
            )
        if (self.interaction == "dcn") != (self.cross is not None):
            raise ValueError(
                "interaction = 'dcn' needs a [cross] section, and nothing else has one"
            )
        if self.keep_diagonal and self.interaction != "dot":
            raise ValueError("keep_diagonal only has a meaning for interaction = 'dot'")
        return self

    @cached_property
    def table_count(self) -> int:
        """Number of embedding tables (sparse features)."""
        return sum(group.count for group in self.tables)

    @cached_property
    def lookups_per_sample(self) -> float:
        """Embedding vectors that one sample reads, over all tables."""
        return sum(group.count * group.lookups for group in self.tables)

    @cached_property
    def pooled_bytes_per_sample(self) -> int:
        """Bytes of all pooled vectors of one sample (FP16)."""
        return sum(group.count * group.pooled_bytes for group in self.tables)

    @cached_property
    def gathered_bytes_per_sample(self) -> float:
        """Bytes of all embedding rows that one sample reads."""
        return sum(group.count * group.lookups * group.row_bytes for group in self.tables)

    @cached_property
    def interaction_width(self) -> int:
        """Inputs of the top MLP.

        Dot: the pairs of (tables + 1) vectors, without the diagonal, joined to the bottom
        output (paper Sec. III-D). Concat and the cross network: all vectors side by side.
        """
        bottom = self.bottom_mlp[-1]
        if self.interaction == "dot":
            vectors = self.table_count + 1
            pairs = vectors * (vectors + (1 if self.keep_diagonal else -1)) // 2
            return pairs + bottom
        return bottom + sum(group.count * group.dimension for group in self.tables)

    @cached_property
    def _layers(self) -> list[tuple[int, int]]:
        shapes = []
        for start, widths in (
            (self.dense_features, self.bottom_mlp),
            (self.interaction_width, self.top_mlp),
        ):
            previous = start
            for width in widths:
                shapes.append((previous, width))
                previous = width
        return shapes

    @cached_property
    def dense_parameters(self) -> int:
        """Weights and biases of all dense layers, cross layers included."""
        mlps = sum(inputs * outputs + outputs for inputs, outputs in self._layers)
        if self.cross is None:
            return mlps
        width = self.interaction_width
        return mlps + self.cross.layers * (2 * width * self.cross.rank + width)

    @property
    def dense_bytes(self) -> int:
        """Bytes of the dense parameters, replicated on every chip (FP16, paper Sec. IV-A)."""
        return self.dense_parameters * ACTIVATION_BYTES

    @cached_property
    def mlp_macs_per_sample(self) -> int:
        """Multiply-adds of both MLPs for one sample, forward."""
        return sum(inputs * outputs for inputs, outputs in self._layers)

    @cached_property
    def interaction_macs_per_sample(self) -> int:
        """Multiply-adds of the feature interaction for one sample, forward.

        The dot interaction counts the products that are kept: pairs times dimension (Sec. III-D).
        """
        if self.interaction == "dot":
            return (self.interaction_width - self.bottom_mlp[-1]) * self.bottom_mlp[-1]
        if self.cross is not None:
            return self.cross.layers * 2 * self.interaction_width * self.cross.rank
        return 0

    @property
    def macs_per_sample(self) -> int:
        """Multiply-adds of one sample, forward: MLPs and interaction."""
        return self.mlp_macs_per_sample + self.interaction_macs_per_sample

    @cached_property
    def activations_per_sample(self) -> int:
        """FP16 values that one sample keeps for the backward pass: every layer's input, and p."""
        return (
            self.dense_features + sum(self.bottom_mlp) + self.interaction_width + sum(self.top_mlp)
        )

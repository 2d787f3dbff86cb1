"""Base and number types of the specifications that a user writes."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Above = Annotated[float, Field(gt=0)]


class Frozen(BaseModel):
    """Base of every specification: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def changed(self, **update: Any) -> Self:
        """A validated copy with other values; nothing that was derived from the old ones stays."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate(values | update)

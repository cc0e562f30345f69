"""rules/quantities/: what metrics mean that have one definition, by the field in which they are used."""

from __future__ import annotations

from msgspec import Struct

from hrmdoc.record.quantity import Quantity


class Quantities(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/quantities/<id>.yaml.

    Attributes:
        orders: names of metrics that differ in these words alone, none of which is ever above the next one,
            as a top-1 accuracy is never above the top-5 accuracy of the same answers.
    """

    id: str
    title: str
    quantities: tuple[Quantity, ...] = ()
    orders: tuple[tuple[str, ...], ...] = ()

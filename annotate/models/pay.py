"""The pay for a HIT by the terms of its batch, for Python and for SQL."""


def compute_hit_pay(*, n_items: int, hit_size: int, cents_per_hit: int, cents_per_item: int, is_prorated: bool) -> int:
    """Return the cents for a HIT that shows this many items.

    If pay is prorated, a HIT with fewer items than the HIT size pays its share of the pay per HIT, rounded up to a
    whole cent. The size alone decides, never the kind of HIT: otherwise pay would reveal HITs made of controls.
    """
    if is_prorated:
        # Integer division rounds down, of a negative number therefore up.
        cents_per_hit = -(-cents_per_hit * min(n_items, hit_size) // hit_size)
    return cents_per_hit + cents_per_item * n_items


def hit_pay(batch: str, n_items: str) -> str:
    """Return SQL for the same cents; `batch` is the alias of a batch, `n_items` SQL for an integer."""
    b = batch
    return f"""(CASE WHEN {b}.is_pay_prorated
        THEN ({b}.cents_per_hit * least({n_items}, {b}.hit_size) + {b}.hit_size - 1) / {b}.hit_size
        ELSE {b}.cents_per_hit END + {b}.cents_per_item * {n_items})"""

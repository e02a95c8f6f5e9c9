"""Kubernetes quantities as exact decimals."""

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_SHAPE: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?P<suffix>[eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i|)",
    re.ASCII,
)
_BINARY: Final[Mapping[str, int]] = {
    "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60,
}  # fmt: skip
_DECIMAL: Final[Mapping[str, int]] = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES: Final = {"": 0} | dict(_BINARY)
_LARGEST: Final = Decimal(2**63 - 1)
_NANO: Final = Decimal("1e-9")
_LARGEST_EXPONENT: Final = 10_000
_LONGEST_CACHED: Final = 100
_CEILING: Final = Context(prec=60, rounding=ROUND_CEILING)
_FLOOR: Final = Context(prec=60, rounding=ROUND_FLOOR)
_WIDE: Final = Context(prec=60)


class QuantityError(ValueError):
    """A text that is not a Kubernetes quantity; the message shows the valid notation."""


def parse(value: int | str) -> Decimal:
    """Parse a quantity, e.g. `250m`, `5Gi`, `1e3` or `12`; raises QuantityError.

    As in Kubernetes, fractions of a billionth are rounded away from zero and numbers beyond
    64 bits are capped; everything between is exact.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise QuantityError(f"{value!r} is not a quantity, write a number such as 2, 500m or 5Gi")
    text = str(value)
    # Long quantities are rare, and caching them would cost memory.
    return _parse(text) if len(text) <= _LONGEST_CACHED else _parse.__wrapped__(text)


def format_canonical(value: Decimal, form: Form = "DecimalSI") -> str:
    """Format a quantity with the largest suffix that needs no fraction."""
    if form == "BinarySI" and abs(value) >= 1024:
        return _format_binary(value)
    mantissa, exponent = _split_decimal(value)
    if form == "DecimalExponent":
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIXES[exponent]}"


@lru_cache(maxsize=8192)
def _parse(text: str) -> Decimal:
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise QuantityError(_explain(text))
    number, suffix = Decimal(match["number"]), match["suffix"]
    if not number:
        return Decimal(0)
    if suffix in _BINARY:
        return _bound(_exactly(number, Decimal(2 ** _BINARY[suffix])))
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else _exponent(suffix[1:])
    sign, digits, scale = number.as_tuple()
    return _bound(Decimal((sign, digits, int(scale) + exponent)))


def _exponent(text: str) -> int:
    """Parse an exponent; beyond the largest, the result is capped or rounded to a billionth."""
    is_negative, digits = text.startswith("-"), text.lstrip("+-").lstrip("0")
    # Python refuses to parse thousands of digits.
    size = int(digits or "0") if len(digits) < 10 else _LARGEST_EXPONENT
    size = min(size, _LARGEST_EXPONENT)
    return -size if is_negative else size


def _exactly(number: Decimal, factor: Decimal) -> Decimal:
    """Multiply with as many digits as the exact product needs."""
    return Context(prec=len(number.as_tuple().digits) + 20).multiply(number, factor)


def _bound(value: Decimal) -> Decimal:
    if abs(value.adjusted()) > 60:
        rounded = _LARGEST if value.adjusted() > 0 else _NANO
        return rounded.copy_sign(value)
    if abs(value) >= _LARGEST:
        return _LARGEST.copy_sign(value)
    return value.quantize(_NANO, context=_FLOOR if value < 0 else _CEILING).normalize(_WIDE)


def _split_decimal(value: Decimal) -> tuple[int, int]:
    """Split a number into a whole mantissa and an exponent that is a multiple of three."""
    if not value:
        return 0, 0
    nanos = int(
        value.scaleb(9, _WIDE).to_integral_value(ROUND_CEILING if value > 0 else ROUND_FLOOR)
    )
    exponent = -9
    while exponent < 18 and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return nanos, exponent


def _format_binary(value: Decimal) -> str:
    whole = int(value.to_integral_value(ROUND_CEILING if value > 0 else ROUND_FLOOR))
    for suffix, shift in reversed(_BINARY_SUFFIXES.items()):
        if whole % (1 << shift) == 0:
            return f"{whole // (1 << shift)}{suffix}"
    return str(whole)


def _explain(text: str) -> str:
    match = re.match(r"([+-]?[0-9]*\.?[0-9]*)\s*([kKmMgGtTpPeE])(?:i?[bB]?)\Z", text)
    if match and match[1]:
        letter = match[2].upper()
        decimal = "k" if letter == "K" else letter
        number = match[1]
        return (
            f"{text!r} is not a quantity, write {number}{decimal} (powers of 1000) "
            f"or {number}{letter}i (powers of 1024)"
        )
    return (
        f"{text!r} is not a quantity, write a number with an optional suffix such as 2, 500m or 5Gi"
    )

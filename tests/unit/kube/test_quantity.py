from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube import quantity

NANOS = st.integers(min_value=-(2**63 - 1) * 10**9, max_value=(2**63 - 1) * 10**9)
FORMS = st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"])


def decimals() -> st.SearchStrategy[Decimal]:
    return NANOS.map(lambda nanos: Decimal(nanos).scaleb(-9))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("12", Decimal(12), id="a plain number"),
        pytest.param(12, Decimal(12), id="a JSON number"),
        pytest.param("+1", Decimal(1), id="an explicit plus"),
        pytest.param("-1.5", Decimal("-1.5"), id="a negative fraction"),
        pytest.param(".5", Decimal("0.5"), id="no digit before the point"),
        pytest.param("1.", Decimal(1), id="no digit after the point"),
        pytest.param("250m", Decimal("0.25"), id="thousandths"),
        pytest.param("100n", Decimal("1e-7"), id="billionths"),
        pytest.param("3u", Decimal("0.000003"), id="millionths"),
        pytest.param("5k", Decimal(5000), id="thousands are a small k"),
        pytest.param("1E", Decimal(10) ** 18, id="a bare E is exa"),
        pytest.param("1E3", Decimal(1000), id="E with digits is an exponent"),
        pytest.param("1e-3", Decimal("0.001"), id="a negative exponent"),
        pytest.param("5Gi", Decimal(5 * 2**30), id="powers of 1024"),
        pytest.param("0.5Ki", Decimal(512), id="a fraction of a power of 1024"),
        pytest.param("0", Decimal(0), id="zero"),
        pytest.param("0e99999", Decimal(0), id="zero with an exponent"),
        pytest.param("1.0000000001", Decimal("1.000000001"), id="rounded up to a billionth"),
        pytest.param("-1.0000000001", Decimal("-1.000000001"), id="rounded away from zero"),
        pytest.param("1e-99", Decimal("1e-9"), id="never rounded to nothing"),
        pytest.param("9223372036854775808", Decimal(2**63 - 1), id="capped at 64 bits"),
        pytest.param("-1e999999999999", Decimal(-(2**63 - 1)), id="capped below as well"),
        pytest.param("8Ei", Decimal(2**63 - 1), id="capped after the suffix"),
    ],
)
def test_parse(text: str | int, value: Decimal):
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        "abc",
        "1K",
        "1gi",
        "1.2.3",
        "--1",
        "1e",
        "1Zi",
        "0x10",
        "\u0661",
        "1e3Ki",
        "Inf",
        "NaN",
    ],
)
def test_malformed_quantities_are_refused_as_in_kubernetes(text: str):
    with pytest.raises(quantity.QuantityError, match="is not a quantity, write "):
        quantity.parse(text)


@pytest.mark.parametrize("value", [True, None, 1.5, [], {}])
def test_other_types_are_refused(value: object):
    with pytest.raises(quantity.QuantityError, match="is not a quantity"):
        quantity.parse(value)  # type: ignore[arg-type] # what hostile objects hold


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("5GB", "write 5G (powers of 1000) or 5Gi (powers of 1024)", id="bytes"),
        pytest.param("10KB", "write 10k (powers of 1000) or 10Ki (powers of 1024)", id="large K"),
        pytest.param("2.5 tb", "write 2.5T (powers of 1000) or 2.5Ti", id="space and small"),
    ],
)
def test_an_error_shows_the_valid_notation(text: str, hint: str):
    with pytest.raises(quantity.QuantityError) as caught:
        quantity.parse(text)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        pytest.param("0", "BinarySI", "0", id="zero has no suffix"),
        pytest.param("1500", "DecimalSI", "1500", id="no suffix that would need a fraction"),
        pytest.param("2000", "DecimalSI", "2k", id="the largest suffix that fits"),
        pytest.param("1.5", "DecimalSI", "1500m", id="no fractions"),
        pytest.param("2048", "BinarySI", "2Ki", id="powers of 1024"),
        pytest.param("1023", "BinarySI", "1023", id="small binary numbers are plain"),
        pytest.param("1024.5", "BinarySI", "1025", id="binary fractions are rounded up"),
        pytest.param("-3000", "DecimalExponent", "-3e3", id="as an exponent"),
        pytest.param("12", "DecimalExponent", "12", id="no exponent needed"),
    ],
)
def test_format_canonical(value: str, form: quantity.Form, text: str):
    assert quantity.format_canonical(Decimal(value), form) == text


@given(decimals(), st.sampled_from(["DecimalSI", "DecimalExponent"]))
def test_a_formatted_quantity_parses_to_the_same_value(value: Decimal, form: quantity.Form):
    assert quantity.parse(quantity.format_canonical(value, form)) == value


@given(st.integers(min_value=-(2**63 - 1), max_value=2**63 - 1))
def test_whole_numbers_in_binary_form_parse_to_the_same_value(value: int):
    assert quantity.parse(quantity.format_canonical(Decimal(value), "BinarySI")) == value


@given(decimals(), decimals())
def test_parsing_keeps_the_order(left: Decimal, right: Decimal):
    texts = [quantity.format_canonical(value) for value in (left, right)]
    assert (quantity.parse(texts[0]) < quantity.parse(texts[1])) == (left < right)


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["m", "", "k", "Ki", "Mi", "G"]))
def test_sums_are_exact(count: int, suffix: str):
    total = sum((quantity.parse(f"0.1{suffix}") for _ in range(10)), Decimal(0)) * count
    assert total == quantity.parse(f"1{suffix}") * count


@given(st.text(max_size=40))
def test_any_text_parses_or_raises_quantity_error(text: str):
    try:
        value = quantity.parse(text)
    except quantity.QuantityError:
        return
    assert abs(value) <= 2**63 - 1
    assert quantity.parse(quantity.format_canonical(value)) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1e" + "9" * 5_000, 2**63 - 1, id="too large for any number"),
        pytest.param("1E+" + "0" * 5_000 + "3", 1000, id="leading zeros"),
        pytest.param("1e-" + "9" * 5_000, Decimal("1e-9"), id="too small for any number"),
        pytest.param("1" * 5_000, 2**63 - 1, id="thousands of digits"),
    ],
)
def test_exponents_and_digits_of_any_length_are_parsed(text: str, expected: Decimal) -> None:
    assert quantity.parse(text) == expected

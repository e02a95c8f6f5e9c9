import pytest

from webhook.domain.placement.networks import Range, is_reserved, matches_family, overlap, parse


def read(cidr: str) -> Range:
    found = parse(cidr)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("10.0.0.0/16", "10.0.128.0/17", True, id="contained"),
        pytest.param("10.0.0.0/17", "10.0.128.0/17", False, id="neighbours"),
        pytest.param("2001:db8::/48", "2001:db8::/64", True, id="contained in IPv6"),
        pytest.param("0.0.0.0/0", "::/0", False, id="other family"),
        pytest.param("10.1.2.3/16", "10.1.0.0/24", True, id="host bits are ignored"),
    ],
)
def test_overlap(one: str, other: str, expected: bool) -> None:
    assert overlap([read(one)], [read(other)]) is expected
    assert overlap([read(other)], [read(one)]) is expected


@pytest.mark.parametrize(
    ("cidr", "expected"),
    [
        pytest.param("239.255.0.0/16", False, id="below the reserved ranges"),
        pytest.param("240.0.0.0/16", True, id="first reserved address"),
        pytest.param("244.255.255.255/32", True, id="last reserved address"),
        pytest.param("245.0.0.0/8", False, id="above the reserved ranges"),
        pytest.param("0.0.0.0/0", True, id="covers everything"),
        pytest.param("fd8f:6d53:b97a:1::1/128", True, id="inside the VPN range"),
        pytest.param("fd8f:6d53:b97a:2::/64", False, id="beside the VPN range"),
    ],
)
def test_reserved_ranges(cidr: str, expected: bool) -> None:
    assert is_reserved(read(cidr)) is expected


@pytest.mark.parametrize("cidr", ["", "10.0.0.0/33", "ten", "10.0.0.0/8/8", "::g/64"])
def test_malformed_ranges_are_none(cidr: str) -> None:
    assert parse(cidr) is None


@pytest.mark.parametrize(
    ("cidr", "families", "expected"),
    [
        pytest.param("10.0.0.0/8", (), True, id="IPv4 is the default"),
        pytest.param("2001:db8::/64", (), False, id="IPv6 is not the default"),
        pytest.param("2001:db8::/64", ("IPv4", "IPv6"), True, id="dual stack"),
    ],
)
def test_family(cidr: str, families: tuple[str, ...], expected: bool) -> None:
    assert matches_family(read(cidr), families) is expected

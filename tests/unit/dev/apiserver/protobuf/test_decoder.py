"""Decoding of Kubernetes' protobuf."""

import pytest

from webhook.dev.apiserver.protobuf import decoder


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def length_delimited(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer(number, value):
    return varint(number << 3) + varint(value)


def envelope(version, kind, body):
    return (
        b"k8s\0"
        + length_delimited(1, length_delimited(1, version) + length_delimited(2, kind))
        + length_delimited(2, body)
    )


def test_a_config_map():
    metadata = (
        length_delimited(1, "a")
        + length_delimited(2, "")
        + length_delimited(3, "ns")
        + length_delimited(8, b"")
    )
    labels = length_delimited(11, length_delimited(1, "k") + length_delimited(2, "v"))
    data = length_delimited(2, length_delimited(1, "x") + length_delimited(2, "1"))
    binary = length_delimited(3, length_delimited(1, "y") + length_delimited(2, b"\x00\x01"))
    obj = decoder.decode(
        envelope("v1", "ConfigMap", length_delimited(1, metadata + labels) + data + binary)
    )
    assert obj == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"k": "v"}},
        "data": {"x": "1"},
        "binaryData": {"y": "AAE="},
    }


def test_zeros_of_pointers_are_kept():
    spec = integer(1, 0) + integer(5, 0) + integer(7, 0)
    obj = decoder.decode(envelope("apps/v1", "Deployment", length_delimited(2, spec)))
    assert obj["spec"] == {"replicas": 0}


def test_negative_numbers():
    obj = decoder.decode(envelope("apps/v1", "Deployment", length_delimited(2, integer(1, -1))))
    assert obj["spec"]["replicas"] == -1


def test_inlined_and_special_types():
    text = length_delimited(1, integer(1, 1) + integer(2, 0) + length_delimited(3, "50%"))
    number = length_delimited(3, integer(1, 0) + integer(2, 2) + length_delimited(3, ""))
    obj = decoder.decode(
        envelope("policy/v1", "PodDisruptionBudget", length_delimited(2, text + number))
    )
    assert obj["spec"] == {"minAvailable": "50%", "maxUnavailable": 2}
    volume = length_delimited(
        1, length_delimited(1, "v") + length_delimited(2, length_delimited(2, b""))
    )
    pod = decoder.decode(envelope("v1", "Pod", length_delimited(2, volume)))
    assert pod["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_times():
    moment = integer(1, 1_767_225_600) + integer(2, 5000)
    spec = length_delimited(4, moment) + length_delimited(1, "me")
    lease = decoder.decode(envelope("coordination.k8s.io/v1", "Lease", length_delimited(2, spec)))
    assert lease["spec"] == {"renewTime": "2026-01-01T00:00:00.000005Z", "holderIdentity": "me"}


def test_unknown_fields_are_ignored():
    assert (
        decoder.decode(envelope("v1", "ConfigMap", length_delimited(99, "new")))["kind"]
        == "ConfigMap"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"{}", "does not appear to be a protobuf message", id="JSON"),
        pytest.param(
            envelope("v9", "Thing", b""), 'no kind "Thing" is registered', id="unknown kind"
        ),
        pytest.param(
            envelope("v1", "ConfigMap", length_delimited(1, b"\x0a\x20a")),
            "unexpected EOF",
            id="truncated",
        ),
    ],
)
def test_invalid_bytes(data, message):
    with pytest.raises(decoder.ProtobufError, match=message):
        decoder.decode(data)

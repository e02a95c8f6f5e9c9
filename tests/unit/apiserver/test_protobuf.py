import pytest

from webhook.apiserver.protobuf import decoding


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def block(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def whole(number, value):
    return varint(number << 3) + varint(value)


def envelope(version, kind, body):
    return b"k8s\0" + block(1, block(1, version) + block(2, kind)) + block(2, body)


def test_a_config_map():
    metadata = block(1, "a") + block(2, "") + block(3, "ns") + block(8, b"")
    labels = block(11, block(1, "k") + block(2, "v"))
    data = block(2, block(1, "x") + block(2, "1"))
    binary = block(3, block(1, "y") + block(2, b"\x00\x01"))
    obj = decoding.decode(envelope("v1", "ConfigMap", block(1, metadata + labels) + data + binary))
    assert obj == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"k": "v"}},
        "data": {"x": "1"},
        "binaryData": {"y": "AAE="},
    }


def test_zeros_are_kept_where_they_mean_something():
    spec = whole(1, 0) + whole(5, 0) + whole(7, 0)
    obj = decoding.decode(envelope("apps/v1", "Deployment", block(2, spec)))
    assert obj["spec"] == {"replicas": 0}


def test_negative_numbers():
    obj = decoding.decode(envelope("apps/v1", "Deployment", block(2, whole(1, -1))))
    assert obj["spec"]["replicas"] == -1


def test_inlined_types_and_special_ones():
    text = block(1, whole(1, 1) + whole(2, 0) + block(3, "50%"))
    number = block(3, whole(1, 0) + whole(2, 2) + block(3, ""))
    obj = decoding.decode(envelope("policy/v1", "PodDisruptionBudget", block(2, text + number)))
    assert obj["spec"] == {"minAvailable": "50%", "maxUnavailable": 2}
    volume = block(1, block(1, "v") + block(2, block(2, b"")))
    pod = decoding.decode(envelope("v1", "Pod", block(2, volume)))
    assert pod["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_times():
    moment = whole(1, 1_767_225_600) + whole(2, 5000)
    spec = block(4, moment) + block(1, "me")
    lease = decoding.decode(envelope("coordination.k8s.io/v1", "Lease", block(2, spec)))
    assert lease["spec"] == {"renewTime": "2026-01-01T00:00:00.000005Z", "holderIdentity": "me"}


def test_unknown_fields_are_passed_over():
    assert decoding.decode(envelope("v1", "ConfigMap", block(99, "new")))["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"{}", "does not appear to be a protobuf message", id="JSON"),
        pytest.param(envelope("v9", "Thing", b""), 'no kind "Thing" is registered', id="kind"),
        pytest.param(
            envelope("v1", "ConfigMap", block(1, b"\x0a\x20a")), "unexpected EOF", id="cut"
        ),
    ],
)
def test_other_bytes_are_refused(data, message):
    with pytest.raises(decoding.ProtobufError, match=message):
        decoding.decode(data)

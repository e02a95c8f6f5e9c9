"""The generated schemas of the built-in kinds."""

from webhook.dev.apiserver.builtin import encoding, generate_schemas, markers, schemas
from webhook.dev.apiserver.builtin.kinds import BUILTINS


def test_the_generated_file_is_current():
    assert generate_schemas.TARGET.read_bytes() == generate_schemas.render()


def test_every_marker_names_an_existing_field():
    fields = {
        f"{name.rpartition('.')[2]}.{key}"
        for name, schema in schemas.components().items()
        for key in schema["properties"]
    }
    named = {
        *markers.FIELD_MARKERS,
        *markers.WRITTEN_EMPTY_OBJECTS,
        *markers.NULLABLE,
        *markers.WRITTEN_ZEROS,
        *markers.OMITTED_REQUIRED,
        *markers.NULL_TIMES,
        *markers.OMITTED_ZEROS,
        *markers.INT64,
        *markers.INT_OR_STRING,
        *markers.QUANTITIES,
        *markers.BYTES,
        *markers.MICRO_TIMES,
        *markers.FREE_OBJECTS,
    }
    assert named - fields == set()


def test_every_kind_has_a_schema_with_metadata():
    for row in BUILTINS:
        expanded = schemas.expand(row.component)
        assert "finalizers" in expanded["properties"]["metadata"]["properties"], row.kind


def test_a_recursive_type_is_expanded_once():
    schema = schemas.expand("io.k8s.api.v1.JSONSchemaProps")
    assert schema["properties"]["properties"]["additionalProperties"] is schema


def test_the_zero_value_has_the_fields_that_are_always_written():
    assert encoding.zero_value("io.k8s.api.v1.Deployment") == {
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }


def test_encoding_omits_empty_fields_but_not_required_ones():
    given = {
        "metadata": {"name": "x", "labels": {}, "finalizers": [], "annotations": None},
        "spec": {
            "nodeSelector": {},
            "hostNetwork": False,
            "containers": [{"name": "c", "args": [], "resources": None}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }
    assert encoding.encode(given, "io.k8s.api.v1.Pod") == {
        "metadata": {"name": "x"},
        "spec": {
            "containers": [{"name": "c", "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        "status": {},
    }

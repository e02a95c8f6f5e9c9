"""The generated schemas of the built-in kinds."""

from webhook.apiserver.builtin import encoding, generate, schemas, shapes
from webhook.apiserver.builtin.kinds import BUILTINS


def test_the_generated_file_is_current():
    assert generate.TARGET.read_bytes() == generate.render()


def test_every_named_shape_belongs_to_a_field_that_exists():
    fields = {
        f"{name.rpartition('.')[2]}.{key}"
        for name, schema in schemas.components().items()
        for key in schema["properties"]
    }
    named = {
        *shapes.SHAPES,
        *shapes.EMBEDDED,
        *shapes.NULLABLE,
        *shapes.WRITTEN,
        *shapes.OPTIONAL,
        *shapes.NULL_TIMES,
        *shapes.OMITTED_ZEROS,
        *shapes.INT64,
        *shapes.INT_OR_STRING,
        *shapes.QUANTITIES,
        *shapes.BYTES,
        *shapes.MICRO_TIMES,
        *shapes.FREE_OBJECTS,
    }
    assert named - fields == set()


def test_every_kind_has_a_schema_with_metadata():
    for row in BUILTINS:
        expanded = schemas.expanded(generate.component(row.model))
        assert "finalizers" in expanded["properties"]["metadata"]["properties"], row.kind


def test_a_type_that_contains_itself_is_expanded_once():
    schema = schemas.expanded("io.k8s.api.v1.JSONSchemaProps")
    assert schema["properties"]["properties"]["additionalProperties"] is schema


def test_an_empty_object_is_written_with_what_its_type_always_has():
    assert encoding.zero("io.k8s.api.v1.Deployment") == {
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }


def test_what_is_empty_vanishes_and_what_is_required_stays():
    given = {
        "metadata": {"name": "x", "labels": {}, "finalizers": [], "annotations": None},
        "spec": {
            "nodeSelector": {},
            "hostNetwork": False,
            "containers": [{"name": "c", "args": [], "resources": None}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }
    assert encoding.encoded(given, "io.k8s.api.v1.Pod") == {
        "metadata": {"name": "x"},
        "spec": {
            "containers": [{"name": "c", "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        "status": {},
    }

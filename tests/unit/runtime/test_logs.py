import io
import json
import logging
from collections.abc import Iterator

import pytest

from webhook.runtime import logs


@pytest.fixture(autouse=True)
def _restore_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def written(form: logs.Format, level: str = "info") -> tuple[io.StringIO, logging.Logger]:
    stream = io.StringIO()
    logs.configure(form, level, stream)
    return stream, logging.getLogger("webhook.test")


def test_json_has_the_message_the_fields_and_the_context() -> None:
    stream, logger = written("json")
    with logs.fields(request="r-1"), logs.fields(path="/validate"):
        logger.info("refused", extra={"kind": "Shoot", "count": 2, "odd": {1}})
    logger.info("outside")
    inside, outside = map(json.loads, stream.getvalue().splitlines())
    moment = inside.pop("time")
    assert moment.endswith("Z")
    assert inside == {
        "level": "info",
        "logger": "webhook.test",
        "message": "refused",
        "request": "r-1",
        "path": "/validate",
        "kind": "Shoot",
        "count": 2,
        "odd": [1],
    }
    assert "request" not in outside


def test_text_is_one_readable_line() -> None:
    stream, logger = written("text")
    logger.warning("could not write", extra={"error": "no route", "attempt": 3, "empty": ""})
    line = stream.getvalue().rstrip("\n").split(" ", 1)[1]
    assert line == "warning could not write error='no route' attempt=3 empty='' (webhook.test)"


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_exception_is_logged_with_its_traceback(form: logs.Format) -> None:
    stream, logger = written(form)
    try:
        int("broken")
    except ValueError:
        logger.exception("failed")
    assert "ValueError: invalid literal" in stream.getvalue()
    assert "Traceback" in stream.getvalue()


def test_lines_below_the_level_are_left_out() -> None:
    stream, logger = written("json", level="warning")
    logger.info("not this")
    assert stream.getvalue() == ""


def test_configuring_again_does_not_double_the_lines() -> None:
    written("json")
    stream, logger = written("json")
    logger.info("once")
    assert len(stream.getvalue().splitlines()) == 1


def test_a_repeated_message_is_a_warning_once_until_the_fault_is_over() -> None:
    failures = logs.LogDeduplicator()
    levels = [failures.level(each) for each in ("away", "away", "refused", "away")]
    assert levels == [logging.WARNING, logging.DEBUG, logging.WARNING, logging.WARNING]
    failures.end()
    assert failures.level("away") == logging.WARNING

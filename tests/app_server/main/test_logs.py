import io
import logging

import pytest

from app_server.core.logs import LineFormatter, bind, configure_logging


def _formatted(message: str, *arguments: object, **extra: object) -> str:
    record = logging.getLogger("app_server.x").makeRecord(
        "app_server.x", logging.INFO, "x.py", 1, message, arguments, None, extra=extra
    )
    return LineFormatter().format(record)


def test_a_record_is_one_line_with_its_fields() -> None:
    line = _formatted("request %s", "failed", status=404, code="not_found")
    assert line.endswith(" INFO app_server.x request failed code=not_found status=404")


@pytest.mark.parametrize("forged", ["a\nb", "a\r\nb", "a\u2028b", "a\x1b[31mb"])
def test_input_cannot_forge_a_second_line(forged: str) -> None:
    for line in (_formatted(forged), _formatted("x", field=forged)):
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line


def test_bound_ids_stand_in_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        configure_logging()
        bind(request_id="r1")
        bind(user_id="u1")
        logging.getLogger("app_server.x").info("hello")
    finally:
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    assert written.getvalue().endswith("hello request_id=r1 user_id=u1\n")

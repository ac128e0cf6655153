"""Schemathesis makes requests from `/openapi.json`, fitting and not: none of them is answered by a 5xx.

Half of those that fit are about what is on the board, at whichever revision, so that they come further than to "there
is no such session".
"""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode

from punchlist.server.openapi import describe_api
from tests.server.conftest import Running
from tests.server.worlds import Place, build
from tests.sizes import size

SCHEMA: Any = schemathesis.openapi.from_dict(describe_api())
OPERATIONS: list[Any] = [found.ok() for found in SCHEMA.get_all_operations()]
EXAMPLES = size(3, 400)


def run_cases(server: Running, strategy: Any, *, at_revision: bool = True) -> None:
    @seed(18)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=strategy)
    def check(case: Any) -> None:
        if not at_revision:
            case.headers.pop("If-Match", None)
        answer = case.call(
            base_url=server.origin, headers={"Authorization": f"Bearer {server.access.secret}"}, timeout=120
        )
        assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.text}"
        if answer.status_code >= 400:
            assert answer.headers["content-type"][0].startswith("application/problem+json"), case.as_curl_command()

    check()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_requests_that_fit_get_no_5xx(operation: Any, shared: Running):
    run_cases(shared, operation.as_strategy())
    place = Place(f"place{OPERATIONS.index(operation)}")
    build(shared.board, place)
    known = {one.name: place.path[one.name] for one in operation.path_parameters}
    if known:
        run_cases(shared, operation.as_strategy(path_parameters=known), at_revision=False)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_requests_that_do_not_fit_get_no_5xx(operation: Any, shared: Running):
    run_cases(shared, operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))

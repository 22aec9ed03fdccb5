"""Requests generated from the OpenAPI document: no answer is a 5xx, and every answer matches the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from serve.served import Api, serving

import engram
from engram.serve.http.routes import Route, routes
from engram.types import Policy, Reader, Role

EXAMPLES = 6


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    path = tmp_path_factory.mktemp("openapi") / "vault"
    with engram.open(path, settings={"serve_rate": 1_000_000, "backup_hours": 0}) as opened:
        mem = opened.as_reader(Reader(policy=Policy.ALL, role=Role.OWNER))
        mem.remember("The platform team owns the API")
        secret = mem.grant("everything", policy=Policy.ALL, role=Role.OWNER, writes=True).secret
        with serving(mem) as server:
            yield Api(server.port, secret)


@pytest.fixture(scope="module")
def document(api: Api) -> Any:
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{api.port}/openapi.json")


@pytest.mark.parametrize("route", routes(), ids=lambda route: str(route.operation.name))
def test_requests_valid_by_the_openapi_document_never_cause_a_server_error(route: Route, document: Any, api: Api) -> None:
    @given(case=document[route.path][route.method].as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def throw(case: Any) -> None:
        if "timeout" in (case.query or {}):
            case.query["timeout"] = 30.0  # a shorter deadline may be missed, and 504 would be right
        case.call_and_validate(
            headers={"Authorization": f"Bearer {api.token}"},
            checks=[not_a_server_error, status_code_conformance, response_schema_conformance],
        )

    throw()

"""Describe the API in OpenAPI 3.1, from its table of routes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import fields as fields_of
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from punchlist import __version__
from punchlist.server.access import needs
from punchlist.server.api.routing import PREFIX, Api, ApiRoute
from punchlist.server.api.table import PATH_PARAMETERS, ROUTES
from punchlist.server.problems import PROBLEM_TYPE, ProblemReply, status_of

_REFERENCE: Final = "#/components/schemas/{name}"
_ABOUT: Final = (
    "The board of Punchlist: what agents plan, do and have done, and what waits on a person. Every error is a "
    "problem document (RFC 9457) with a stable `code`. A reply has an `ETag`; where that begins with a revision, "
    "`If-Match` makes a change only at that revision. A change with an `Idempotency-Key` is applied once, however "
    "often it is sent."
)
_SCOPES: Final = {
    "look": "Reading.",
    "answer": "Reading, answering questions and deciding on plans.",
    "edit": "All that, and changing lists and tasks.",
    "report": "Reporting what the agents of one machine do; it includes no other scope.",
}


def describe_api(routes: Sequence[ApiRoute] = ROUTES) -> dict[str, Any]:
    """Return the OpenAPI document of these routes."""
    kinds: list[Any] = [ProblemReply]
    for route in routes:
        kinds += [kind for kind in (route.reply, route.body) if kind is not None and kind not in kinds]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    known = dict(zip(kinds, schemas, strict=True))
    for name in msgspec.json.schema_components([route.reply for route in routes])[1]:
        _require_all(components[name])
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(f"{PREFIX}{route.path}", {})[route.method.lower()] = _describe_route(route, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Punchlist", "version": __version__, "description": _ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `punchlist token create`, or that of the link which the server prints.",
                }
            },
        },
    }


def _require_all(schema: dict[str, Any]) -> None:
    if "properties" in schema:
        schema["required"] = list(schema["properties"])
        for value in schema["properties"].values():
            value.pop("default", None)


def _describe_route(route: ApiRoute, known: dict[Any, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "description": f"Needs the scope `{route.scope}`. {_SCOPES[route.scope]}",
        "parameters": list(_list_parameters(route)),
        "responses": _describe_responses(route, known),
    }
    if route.body is not None:
        needed = any(field.required for field in fields_of(route.body))
        described["requestBody"] = {
            "required": needed,
            "content": {"application/json": {"schema": known[route.body]}},
        }
    return described


def _list_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    found = [_parameter(name, "path", PATH_PARAMETERS[name], required=True) for name in route.parameters]
    fields = () if route.query is None else fields_of(route.query)
    found += [
        _parameter(field.name, "query", field.type, required=field.required, default=field.default) for field in fields
    ]
    if route.method == "GET":
        found.append(_header("If-None-Match", "An ETag that you have: the reply is 304 if it still holds."))
    else:
        found.append(_header("Idempotency-Key", "A key of your own, under which this request is applied once.", 200))
    if route.takes_revision:
        found.append(_header("If-Match", "The ETag that you saw: the change is made only if it still holds."))
    return found


def _parameter(name: str, place: str, kind: Any, *, required: bool, default: Any = NODEFAULT) -> dict[str, Any]:
    schema = dict(msgspec.json.schema(kind))
    # A field that is left out is sent as nothing: a query has no null.
    branches = [branch for branch in schema.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:
        schema = {**{key: value for key, value in schema.items() if key != "anyOf"}, **branches[0]}
    if default is not NODEFAULT and default is not None:
        schema["default"] = default
    about = schema.pop("description", f"Only those with this {name}.")
    return {"name": name, "in": place, "required": required, "description": about, "schema": schema}


def _header(name: str, about: str, longest: int = 500) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": "^[!-~]+$"}
    return {"name": name, "in": "header", "required": False, "description": about, "schema": schema}


def _describe_responses(route: ApiRoute, known: dict[Any, Any]) -> dict[str, Any]:
    etag = {"ETag": {"description": "The version of the reply.", "schema": {"type": "string"}}}
    body = {"application/json": {"schema": known[route.reply]}}
    found = {str(route.status): {"description": route.summary, "headers": etag, "content": body}}
    codes: dict[int, list[str]] = {401: ["token_missing", "token_unknown"], 403: ["scope_missing"]}
    if route.method == "GET":
        found["304"] = {"description": "The reply that you have still holds.", "headers": etag}
    else:
        codes |= {400: ["json_malformed"], 413: ["body_too_large"], 415: ["type_refused"]}
        codes[422] = ["invalid_input", "idempotency_key_reused"]
    if route.query is not None:
        codes.setdefault(400, []).append("query_malformed")
        codes.setdefault(422, ["invalid_input"])
    if route.takes_revision:
        codes[412] = ["revision_conflict"]
    if route.parameters or (route.query is not None and "project" in route.query.__struct_fields__):
        codes.setdefault(404, [])
    for error in route.errors:
        codes.setdefault(status_of(error), []).append(error.code)
    if route.body is not None or route.parameters:
        codes.setdefault(409, [])
        codes.setdefault(422, ["invalid_input"])
    codes[503] = ["store_busy"]
    for status, words in sorted(codes.items()):
        said = f" ({', '.join(f'`{code}`' for code in dict.fromkeys(words))})" if words else ""
        found[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}{said}.",
            "content": {PROBLEM_TYPE: {"schema": known[ProblemReply]}},
        }
    return found


@cache
def _encode_description() -> bytes:
    return msgspec.json.encode(describe_api())


@needs("look", per_project=True)
async def show_openapi(request: Request) -> Response:
    return Response(_encode_description(), media_type="application/json")


api: Final = Api(ROUTES)
routes: Final[list[BaseRoute]] = [Route("/openapi.json", show_openapi), Mount(PREFIX, app=api)]

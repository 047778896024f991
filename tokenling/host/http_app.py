"""The HTTP application: the routes in one table, Quart around them, the shell around Quart."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from quart import Response, request
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from tokenling.host.answers import Answer, problem_answer
from tokenling.host.condition import Condition
from tokenling.host.envelopes import PetsPort
from tokenling.host.errors import ApiError
from tokenling.host.exchange import WireLimits
from tokenling.host.polls import Polls
from tokenling.host.routes import Api, Files, HostFacts
from tokenling.host.served_files import ServedFiles
from tokenling.host.shell import SAVE_BODY_BYTES_MAX, Doors, Shell
from tokenling.host.site import SiteBrain

API_ROUTES: Mapping[tuple[str, str], str] = {
    ("GET", "/api/health"): "health",
    ("POST", "/api/pets"): "prepare",
    ("GET", "/api/pets/<pet_id>"): "view",
    ("DELETE", "/api/pets/<pet_id>"): "delete",
    ("POST", "/api/pets/<pet_id>/commands"): "command",
    ("POST", "/api/pets/<pet_id>/transfer"): "transfer",
    ("POST", "/api/pets/<pet_id>/key"): "change_key",
    ("GET", "/api/pets/<pet_id>/receipts"): "receipts",
}
"""Each route and the handler of `Api` behind it; docs/api.md lists the same ones and a test holds that."""
FILE_ROUTES = ("/", "/service-worker.js", "/app/<path:name>", "/brain/<brain_id>/<path:name>")


def create_app(
    pets: PetsPort,
    *,
    facts: HostFacts,
    allowed_origins: Collection[str],
    allowed_hosts: Collection[str] | None = None,
    web_root: Path | None = None,
    brain_dir: Path | None = None,
    precision: str = "q4",
    enrol_code: str | None = None,
    limits: WireLimits | None = None,
    doors: Doors | None = None,
    free_bytes: Callable[[], int] | None = None,
) -> Shell:
    """The application to hand to `serve_http`. Origins are exact (`https://app.example`); None allows every host name.
    `free_bytes` tells what is left of the database's disk, for health. `precision` is the graph that a page is offered.

    Raises `WebFilesError` when the page cannot be served. Reads and hashes the page's and the brain's files: call it
    before the listener opens.
    """
    doors = doors or Doors()
    brain = None if brain_dir is None else SiteBrain(brain_dir, facts.release, precision)
    files = Files(ServedFiles(web_root, brain))
    polls = Polls(pets, doors.waits)
    condition = Condition(pets, doors.waits, free_bytes=free_bytes)
    quart = _quart(Api(pets, polls, facts, enrol_code=enrol_code, condition=condition), files)
    return Shell(
        quart,
        doors,
        polls=polls,
        allowed_origins=allowed_origins,
        allowed_hosts=allowed_hosts,
        limits=limits or WireLimits(),
    )


def _quart(api: Api, files: Files) -> QuartTrio:
    app = QuartTrio("tokenling.host", static_folder=None)
    # refusals and faults go to the shell: Quart would log a fault with its message, and of a group take the first
    app.config["PROPAGATE_EXCEPTIONS"] = True
    app.config["RESPONSE_TIMEOUT"] = None  # it would cut a large file short; each send has its own deadline
    app.config["MAX_CONTENT_LENGTH"] = SAVE_BODY_BYTES_MAX
    app.url_map.merge_slashes = False  # a redirect would answer in HTML
    app.url_map.strict_slashes = True
    for (method, rule), name in API_ROUTES.items():
        app.add_url_rule(rule, endpoint=name, view_func=getattr(api, name), methods=[method])
    for rule in FILE_ROUTES:
        app.add_url_rule(rule, endpoint=f"files {rule}", view_func=files.serve, methods=["GET"])
    app.before_request(_note_route)
    app.register_error_handler(HTTPException, _refused_by_quart)
    return app


async def _note_route() -> None:
    """For the log line: the template, which holds no id."""
    if request.url_rule is not None:
        request.scope["state"]["route"] = request.url_rule.rule


async def _refused_by_quart(error: HTTPException) -> Response:
    """What Quart or Werkzeug would say in HTML."""
    if isinstance(error, NotFound):
        return _response(problem_answer(ApiError(404, "unknown_route", "Nothing is served at this path.")))
    if isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ())).encode()
        refusal = ApiError(405, "method_not_allowed", "This path does not have that method; see Allow.")
        return _response(problem_answer(refusal, headers=((b"allow", allowed),)))
    return _response(problem_answer(ApiError(400, "bad_request", "The request cannot be understood.")))


def _response(answer: Answer) -> Response:
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    return Response(answer.body, status=answer.status, headers=headers)

"""A fault of our own is a problem with a stable code; the log gets frames, and nothing that anybody wrote."""

from collections.abc import Callable

import pytest
import structlog
import trio
from host_http_support import KEY, OPERATION, PET, ScriptedPets, client, command_body, problem_of, remote_body, running

from tokenling.host.errors import ApiError

SECRET = "what the owner wrote"


def raise_api_error() -> BaseException:
    return ApiError(409, "stale_epoch", "The epoch is not the current one.", epoch=7)


FAULTS: dict[str, tuple[Callable[[], BaseException], int, str]] = {
    "a refusal": (raise_api_error, 409, "stale_epoch"),
    "a refusal in a group": (lambda: ExceptionGroup("g", [raise_api_error()]), 409, "stale_epoch"),  # type: ignore[list-item]
    "a refusal two groups down": (
        lambda: ExceptionGroup("g", [ExceptionGroup("h", [raise_api_error()])]), 409, "stale_epoch",  # type: ignore[list-item]
    ),
    "a value error": (lambda: ValueError(SECRET), 500, "internal"),
    "a time-out of dispatch's own": (lambda: trio.TooSlowError(SECRET), 500, "internal"),
    "a broken invariant": (lambda: AssertionError(SECRET), 500, "internal"),
    "a recursion": (lambda: RecursionError(SECRET), 500, "internal"),
    "a group": (lambda: ExceptionGroup(SECRET, [ValueError(SECRET), KeyError(SECRET)]), 500, "internal"),
    "a refusal beside a fault": (
        lambda: ExceptionGroup(SECRET, [raise_api_error(), ValueError(SECRET)]), 500, "internal",  # type: ignore[list-item]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fault", "status", "code"), FAULTS.values(), ids=FAULTS.keys())
async def test_whatever_dispatch_raises_is_a_problem_and_the_connection_goes_on(
    fault: Callable[[], BaseException], status: int, code: str
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with running(ScriptedPets(fail_with=fault)) as host, client(host) as http:
            answers = [
                await http.get(f"/api/pets/{PET}"),
                await http.post(f"/api/pets/{PET}/commands", json=command_body(command={"text": SECRET})),
                await http.delete(f"/api/pets/{PET}"),
            ]
            host.pets.fail_with = None
            assert (await http.get(f"/api/pets/{PET}")).status_code == 200
    for response in answers:
        assert (response.status_code, problem_of(response)["code"]) == (status, code)
        assert SECRET not in response.text
        if status == 500:
            assert response.json()["requestId"] == response.headers["x-request-id"]
    assert SECRET not in repr(logs)
    assert len([entry for entry in logs if entry["event"] == "fault"]) == (3 if status == 500 else 0)


async def test_a_fault_is_logged_by_its_type_and_frames() -> None:
    with structlog.testing.capture_logs() as logs:
        async with running(ScriptedPets(fail_with=lambda: ValueError(SECRET))) as host, client(host) as http:
            await http.get(f"/api/pets/{PET}")
    [fault] = [entry for entry in logs if entry["event"] == "fault"]
    name, *frames = fault["frames"].split(" < ")
    assert name == "ValueError"
    assert any("tokenling/host/polls.py:" in frame and frame.endswith("._view") for frame in frames)


async def test_a_request_is_one_log_line_without_ids_keys_or_words() -> None:
    with structlog.testing.capture_logs() as logs:
        async with running() as host, client(host) as http:
            await http.post(f"/api/pets/{PET}/commands", json=command_body(command={"text": SECRET}))
            await http.post(f"/api/pets/{PET}/transfer", json=remote_body(save={"chat": [SECRET]}))
            await http.get(f"/api/{SECRET}?{SECRET}")
            await http.request("SECRETMETHOD", "/api/health")
    lines = [entry for entry in logs if entry["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/api/pets/<pet_id>/commands", 200),
        ("POST", "/api/pets/<pet_id>/transfer", 200),
        ("GET", "-", 404),
        ("other", "-", 405),
    ]
    assert all({"ms", "request_id"} < set(line) for line in lines)
    for private in (SECRET, SECRET.split(maxsplit=1)[0], KEY, PET, OPERATION, "SECRETMETHOD"):
        assert private not in repr(logs)
    assert host.pets.calls[0][0] == "command"

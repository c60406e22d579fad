"""The app server is killed before, during and after each call of an image build."""

import subprocess
from collections.abc import Iterator

import pytest

from app_server.core.config import DEFAULT_BASE_IMAGE
from tests.support.build_halting import STREAMED, BuildHalts, When
from tests.support.killed_site import Site, assert_seen_through, open_site
from tests.support.own_image import QUICK, own_image
from tests.support.patience import PATIENCE_SECONDS
from tests.support.server import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

ENDLESS = f"FROM {DEFAULT_BASE_IMAGE}\nRUN : {{unique}}; sleep 3600\n"
# The shell of this image does not answer. A user may choose an image with such a shell.
SILENT = (
    f"FROM {DEFAULT_BASE_IMAGE}\n"
    "RUN : {unique}; printf '#!/usr/bin/perl\\nsleep 3600;\\n' > /a && chmod +x /a && mv /a /bin/sh\n"
)
WHENS: tuple[When, ...] = ("before", "after")
CALLS = [
    "build base",
    "look create",
    "look attach",
    "look wait",
    "look start",
    "build dependencies",
    "build image",
]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuildHalts]:
    with BuildHalts(tmp_path_factory.mktemp("builds")) as builds:
        yield builds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, builds: BuildHalts) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("site"), {"DOCKER_HOST": builds.url}) as site:
        yield site


@pytest.fixture
def spec(site: Site, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    with own_image(site.client, request.param) as spec:
        yield spec


@pytest.mark.parametrize("spec", [QUICK], indirect=True)
def test_a_server_killed_at_any_call_of_a_build_sees_it_through(
    site: Site, builds: BuildHalts, spec: dict[str, str]
) -> None:
    moments: list[tuple[When, str]] = [
        (when, call) for call in CALLS for when in WHENS if when == "before" or call not in STREAMED
    ]
    halt = builds.halt(*moments[0])
    conversation_id = site.begin(sandbox_spec_id=spec["id"])
    for following in [*moments[1:], None]:
        assert halt.reached.wait(PATIENCE_SECONDS), f"{halt}\n{builds.seen}\n{site.story(conversation_id)}"
        site.server.kill()
        builds.end(halt)
        if following:
            halt = builds.halt(*following)
        site.server.start()

    assert_seen_through(site, {"a build": conversation_id})
    assert {*builds.seen} == {*CALLS}
    assert left_of(site, spec) == []


@pytest.mark.parametrize("spec", [ENDLESS], indirect=True)
def test_a_build_ends_with_the_server_that_is_killed(site: Site, spec: dict[str, str]) -> None:
    conversation_id = site.begin(sandbox_spec_id=spec["id"])
    wait_until(lambda: left_of(site, spec) != [], lambda: site.story(conversation_id))

    site.server.kill()
    wait_until(lambda: left_of(site, spec) == [], lambda: f"{left_of(site, spec)} to go")

    site.server.start()
    site.delete([conversation_id])
    wait_until(lambda: left_of(site, spec) == [], lambda: f"{left_of(site, spec)} to go")


@pytest.mark.parametrize("spec", [SILENT], indirect=True)
def test_a_look_into_an_image_that_does_not_answer_ends_with_its_server_or_its_start(
    site: Site, spec: dict[str, str]
) -> None:
    conversation_id = site.begin(sandbox_spec_id=spec["id"])
    wait_until(lambda: looks_into(spec) != [], lambda: site.story(conversation_id))
    [left] = looks_into(spec)

    site.server.kill()
    site.server.start()
    wait_until(lambda: left not in looks_into(spec), lambda: f"{left} to go")
    wait_until(lambda: looks_into(spec) != [], lambda: site.story(conversation_id))

    site.delete([conversation_id])
    wait_until(lambda: looks_into(spec) == [], lambda: f"{looks_into(spec)} to go")


def left_of(site: Site, spec: dict[str, str]) -> list[str]:
    """Returns the containers and processes of the build of this image."""
    shown = ["docker", "ps", "--all", "--no-trunc", "--format", "{{.Names}} {{.Image}} {{.Command}}"]
    containers = subprocess.check_output(shown, text=True).splitlines()
    programs = subprocess.check_output(["ps", "-eo", "args"], text=True).splitlines()
    ours = (spec["unique"], spec["base"])
    return [each for each in [*containers, *programs] if any(part in each for part in ours)]


def looks_into(spec: dict[str, str]) -> list[str]:
    shown = [
        "docker",
        "ps",
        "--all",
        "--quiet",
        f"--filter=ancestor={spec['base']}",
        "--filter=name=slipway-look-",
    ]
    return subprocess.check_output(shown, text=True).split()

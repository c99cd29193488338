"""`python -m e2e.demo`: from nothing to a rolled-back change, through kubectl, HTTP and the CLI alone. Ends 0 only if all that it promises was seen."""
from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from e2e.cluster import Cluster, ClusterError
from e2e.scenarios import install, prompts, traffic, vllm
from e2e.scenarios.space import Space

from . import acts, chart, report
from .record import Claim, Run
from .stage import DemoError, Stage
from .view import View
from .watch import Watch

BUILD = Path("build/demo")
NAMESPACE = "fairlane-demo"
DOCUMENTS = 0.01   # a second


def main() -> int:
    run, view = Run(time.time()), View()
    try:
        view.act("A cluster, from nothing")
        with Cluster.running() as cluster:
            _play(cluster, run, view)
    except (DemoError, ClusterError, AssertionError) as error:
        run.claims.append(Claim("the demo ran to its end", False, str(error)))
        view.say(f"✗ {error}")
    finally:
        view.close()
    return _finish(run, view)


def _play(cluster: Cluster, run: Run, view: View) -> None:
    stage = Stage(cluster, Space(cluster, NAMESPACE), run, view)
    try:
        with view.telling():
            _acts(stage)
    except (DemoError, AssertionError):
        BUILD.mkdir(parents=True, exist_ok=True)
        (BUILD / "dump.txt").write_text(stage.space.dump() + install.Operator(cluster).logs())
        raise
    finally:
        view.close()
        stage.space.leave()
        if not cluster.pod_reachable:
            install.remove(cluster)


def _acts(stage: Stage) -> None:
    stage.act("helm install fairlane")
    with stage.view.busy("installing the chart"):
        install.shared(stage.cluster)
        stage.cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", timeout=180)  # an interrupted run's, on a cluster that stayed
        stage.cluster.kubectl("create", "namespace", NAMESPACE)
    acts.apply_service(stage)
    acts.ask(stage)
    with _users(stage):
        for act in (acts.good_change, acts.bad_change, acts.impossible_changes):
            act(stage)
    acts.users_were_served(stage)


@contextlib.contextmanager
def _users(stage: Stage) -> Iterator[None]:
    """Chats and documents all the while."""
    with stage.view.busy("how many chats this machine carries"):
        rate = vllm.CHATS * vllm.pace(stage.space.url)
    stage.act(f"Users: {rate:.2g} chats and {DOCUMENTS} documents a second")
    lengths = random.Random(11)
    chats = traffic.Load(stage.space.url, rate, vllm.question, paced=True, together=32, seed=1)
    documents = traffic.Load(stage.space.url, DOCUMENTS, lambda number: _document(number, lengths), together=4, seed=2)
    stage.loads = (chats, documents)
    with chats, documents, Watch(stage.space, stage.run, stage.loads) as stage.watch:
        yield


def _document(number: int, lengths: random.Random) -> traffic.Prompt:
    """Of 1,100 to 1,600 tokens, and none like the one before."""
    body = prompts.document(lengths.randrange(1100, 1600)).body
    assert not isinstance(body, bytes)
    message = {"role": "user", "content": f"Document {number}. {body['messages'][0]['content']}"}
    return traffic.Prompt("documents", {**body, "messages": [message]})


def _finish(run: Run, view: View) -> int:
    """Write the report, say how it went."""
    run.seconds = time.time() - run.began
    BUILD.mkdir(parents=True, exist_ok=True)
    lanes = sorted({sample.lane for sample in run.samples})
    pictures = {lane: chart.png(run, lane) for lane in lanes}
    for lane, png in pictures.items():
        (BUILD / f"timeline-{lane}.png").write_bytes(png)
    (BUILD / "report.html").write_text(report.render(run, pictures))
    (BUILD / "run.json").write_text(json.dumps(run.values(), indent=1))
    view.act(f"{run.seconds:.0f} s. Report: {(BUILD / 'report.html').resolve()}")
    for claim in run.claims:
        view.say(f"{'✓' if claim.holds else '✗'} {claim.name}")
    if not run.succeeded:
        view.say("Not all of it was seen: " + "; ".join(f"{claim.name} ({claim.seen})" for claim in run.claims if not claim.holds))
    return 0 if run.succeeded else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

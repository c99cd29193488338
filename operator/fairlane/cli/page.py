"""The page of `fairlane why --html`: one document without outside resources. Pure."""

import functools
import importlib.resources
from collections.abc import Sequence

import jinja2

from . import figures, pictures, telling, why


def render(service: str, answers: Sequence[why.Answer]) -> str:
    """Return the page of a service's answers; every text of theirs is escaped."""
    return _template().render(service=service, lanes=[_lane(answer) for answer in answers], box=pictures)


def _lane(answer: why.Answer) -> dict[str, object]:
    evidence = answer.evidence
    return {
        "answer": answer,
        "advice": list(telling.advice(answer)),
        "evidence": evidence,
        "rows": figures.rows(evidence) if evidence else [],
        "sentences": list(telling.sentences(evidence, answer.verdict)) if evidence else [],
        "pictures": [picture for picture in (pictures.distribution(evidence), pictures.tail(evidence)) if picture] if evidence else [],
        "timeline": pictures.timeline(answer.decisions, answer.started),
        "steps": figures.steps(answer.decisions, answer.started, answer.message),
    }


@functools.cache
def _template() -> jinja2.Template:
    text = importlib.resources.files(__package__).joinpath("why.html.j2").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(text)

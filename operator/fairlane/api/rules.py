"""What one object can say wrong, as CEL rules that the API server checks at `kubectl apply`. The only place of these checks.

CEL sees only what is written (and schema defaults): what a profile or vLLM itself sets is checked by the core, which answers with `Stalled`.
Every rule's words name the field, the value where CEL can, and the remedy.
"""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Rule:
    """One rule: `holds` must be true, else the API server says `says`, or what the CEL string `words` makes of the values, at `field`."""

    holds: str
    says: str
    words: str = ""
    field: str = ""

    def schema(self) -> dict[str, str]:
        """Return the entry of x-kubernetes-validations."""
        optional = {"messageExpression": _line(self.words), "fieldPath": self.field}
        return {"rule": _line(self.holds), "message": self.says} | {key: value for key, value in optional.items() if value}


def _line(expression: str) -> str:
    """Return the expression on one line: a message may have no line breaks."""
    return " ".join(part.strip() for part in expression.splitlines()).replace(" .format(", ".format(")


def extra(*rules: Rule, **others: Any) -> dict[str, Any]:
    """Return the rules, and other extensions of the schema, as pydantic's `json_schema_extra`."""
    return {"x-kubernetes-validations": [rule.schema() for rule in rules]} | others


_DURATION = "^([0-9]+(ms|s|m|h))+$"

POSITIVE_DURATION = Rule(
    f"!self.matches('{_DURATION}') || duration(self) > duration('0s')",
    "a duration must be longer than 0; write it as 30s, 10m or 1h30m",
    "'a duration must be longer than 0, not ' + self + '; write it as 30s, 10m or 1h30m'",
)

RATE = Rule(
    "double(self) >= 0.0001 && double(self) <= 0.5",
    'a rate of false rollbacks must be from 0.0001 to 0.5, written as a string: "0.01"',
    "'a rate of false rollbacks must be from 0.0001 to 0.5, not ' + self + '; write it as a string: \"0.01\"'",
)

UTILIZATION = Rule(
    "double(self) > 0.0 && double(self) <= 1.0",
    'gpuMemoryUtilization must be in (0, 1], written as a string: "0.90"',
    "'gpuMemoryUtilization must be in (0, 1], not ' + self + '; write it as a string: \"0.90\"'",
)

MODEL_URI = Rule(
    r"self.matches('^hf://[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$') || self.matches('^pvc://[a-z0-9][-a-z0-9]*/.+$') || self.matches('^file:///.+$')",
    "model.uri must be hf://owner/name, pvc://claim/path or file:///path",
    "'model.uri ' + self + ' is none of hf://owner/name, pvc://claim/path, file:///path'",
)

MODEL = Rule(
    "!has(self.cache) || self.uri.startsWith('hf://')",
    "model.cache keeps what is fetched from the hub; leave cache out where model.uri is not hf://",
    field=".cache",
)

CACHE = Rule(
    "!(has(self.claimName) && has(self.sizeLimit))",
    "model.cache: set claimName (weights are kept in that claim) or sizeLimit (an emptyDir per pod), not both",
    field=".sizeLimit",
)

ENGINE_VERSION = Rule(
    r"has(self.version) || self.image.matches(':v?[0-9]+[.][0-9]+[^/]*$')",
    "engine.version: the image's tag does not say the version of vLLM; set engine.version, for example 0.32.0",
    "'engine.version: the tag of image ' + self.image + ' does not say the version of vLLM; set engine.version, for example 0.32.0'",
)

LANE_NAME = Rule(
    "!(self in ['router', 'routes', 'heartbeat'])",
    "a lane cannot be named router, routes or heartbeat: the service's own objects carry these names; choose another",
    "'a lane cannot be named ' + self + ': an object of the service itself carries this name; choose another'",
)

CALLER_HEADER = Rule(
    "!self.lowerAscii().startsWith('x-fairlane-') && !(self.lowerAscii() in ['host', 'authorization', 'content-length', 'content-type', 'connection', "
    "'transfer-encoding'])",
    "router.callerHeader must be a header of its own that a trusted gateway sets, for example x-caller",
    "'router.callerHeader ' + self + ' is taken; use a header of its own that a trusted gateway sets, for example x-caller'",
)

PROMETHEUS_URL = Rule(
    r"self.matches('^https?://[^/ ]+')",
    "metrics.prometheus.url must start with http:// or https://, for example http://prometheus.monitoring:9090",
    "'metrics.prometheus.url ' + self + ' must start with http:// or https://, for example http://prometheus.monitoring:9090'",
)

HEADER_NAMES = Rule(
    r"self.all(name, name.matches('^[A-Za-z0-9][A-Za-z0-9_-]*$'))",
    "metrics.prometheus.headers: a header's name has only letters, digits, - and _",
    r"""'metrics.prometheus.headers: %s: a header name has only letters, digits, - and _'
    .format([self.filter(name, !name.matches('^[A-Za-z0-9][A-Za-z0-9_-]*$'))])""",
)

LABEL_NAMES = Rule(
    r"self.all(name, name.matches('^[a-zA-Z_][a-zA-Z0-9_]*$'))",
    "metrics.prometheus.labels: a label's name has only letters, digits and _",
    r"""'metrics.prometheus.labels: %s: a label name has only letters, digits and _'
    .format([self.filter(name, !name.matches('^[a-zA-Z_][a-zA-Z0-9_]*$'))])""",
)

SCHEDULER = (
    Rule(
        "!has(self.maxNumBatchedTokens) || !has(self.maxNumSeqs) || self.maxNumBatchedTokens >= self.maxNumSeqs",
        "maxNumBatchedTokens must be at least maxNumSeqs; raise the one or lower the other",
        """'maxNumBatchedTokens %d must be at least maxNumSeqs %d: every running sequence needs a token per step; raise the one or lower the other'
        .format([self.maxNumBatchedTokens, self.maxNumSeqs])""",
        ".maxNumBatchedTokens",
    ),
    Rule(
        """!has(self.chunkedPrefill) || self.chunkedPrefill || !has(self.maxNumBatchedTokens) || !has(self.maxModelLen)
        || self.maxNumBatchedTokens >= self.maxModelLen""",
        "chunkedPrefill false needs maxNumBatchedTokens of at least maxModelLen: a prompt is then computed in one step",
        """'chunkedPrefill false needs maxNumBatchedTokens %d to be at least maxModelLen %d: a prompt is then computed in one step;
        raise maxNumBatchedTokens or leave chunkedPrefill on'.format([self.maxNumBatchedTokens, self.maxModelLen])""",
        ".chunkedPrefill",
    ),
)

TIMEOUTS = (
    Rule(
        "duration(self.idle) <= duration(self.total)",
        "idle must not be longer than total",
        "'idle ' + self.idle + ' is longer than total ' + self.total + '; lower idle or raise total'",
        ".idle",
    ),
    Rule(
        "duration(self.nonStreaming) <= duration(self.total)",
        "nonStreaming must not be longer than total",
        "'nonStreaming ' + self.nonStreaming + ' is longer than total ' + self.total + '; lower nonStreaming or raise total'",
        ".nonStreaming",
    ),
)

LANE = (
    Rule(
        """!has(self.match.maxPromptTokens) || !has(self.scheduler) || !has(self.scheduler.maxModelLen)
        || self.match.maxPromptTokens < self.scheduler.maxModelLen""",
        "match.maxPromptTokens must be below scheduler.maxModelLen: the answer needs room too",
        """'match.maxPromptTokens %d of lane %s must be below scheduler.maxModelLen %d: the answer needs room too'
        .format([self.match.maxPromptTokens, self.name, self.scheduler.maxModelLen])""",
        ".match.maxPromptTokens",
    ),
    Rule(
        """!has(self.admission) || !has(self.admission.maxOutputTokens) || !has(self.scheduler) || !has(self.scheduler.maxModelLen)
        || self.admission.maxOutputTokens < self.scheduler.maxModelLen""",
        "admission.maxOutputTokens must be below scheduler.maxModelLen: prompt and answer share it",
        """'admission.maxOutputTokens %d of lane %s must be below scheduler.maxModelLen %d: prompt and answer share it'
        .format([self.admission.maxOutputTokens, self.name, self.scheduler.maxModelLen])""",
        ".admission.maxOutputTokens",
    ),
)

STEPS = Rule(
    "self.map(step, step.weight).isSorted() && self.all(step, self.exists_one(other, other.weight == step.weight))",
    "rollout.steps: weights must rise from step to step",
    "'rollout.steps: weights must rise from step to step, not %s'.format([self.map(step, step.weight)])",
)

ROLLOUT = (
    Rule(
        "self.steps.all(step, duration(step.duration) >= duration(self.analysis.interval))",
        "steps: every step must last at least analysis.interval, or nobody looks at it",
        """'steps: durations %s must all be at least analysis.interval %s, or nobody looks at a step'
        .format([self.steps.map(step, step.duration), self.analysis.interval])""",
        ".steps",
    ),
    Rule(
        "duration(self.failSafeAfter) >= duration(self.analysis.interval) + duration(self.analysis.interval)",
        "failSafeAfter must be at least twice analysis.interval: one late look is no dead operator",
        "'failSafeAfter ' + self.failSafeAfter + ' must be at least twice analysis.interval ' + self.analysis.interval + ': one late look is no dead operator'",
        ".failSafeAfter",
    ),
)

# With one router replica a lane's bound is exact from 1 on; with more, each has an equal share, and a share of 1 would refuse what the bound allows.
_TOO_FEW = """has(lane.admission) && has(lane.admission.maxInFlight) && self.router.replicas > 1 && lane.admission.maxInFlight < 2 * self.router.replicas"""
_UNREACHABLE = """lane.name != self.router.defaultLane && !lane.match.allowNamed && !has(lane.match.maxPromptTokens)
    && (!has(lane.match.callers) || size(lane.match.callers) == 0)"""
_SHARED = "has(other.match.callers) && sets.intersects(lane.match.callers, other.match.callers)"

# What cannot be read for certain goes to the default lane; in a short one, long prompts would hold up the short ones.
_DEFAULT = "lane.name == self.router.defaultLane && has(lane.match.maxPromptTokens)"
_LONGER = "has(other.match.maxPromptTokens) && other.match.maxPromptTokens > lane.match.maxPromptTokens"

SPEC = (
    Rule(
        "self.lanes.exists(lane, lane.name == self.router.defaultLane)",
        "router.defaultLane must be the name of a lane",
        "'router.defaultLane: no lane is named %s; the lanes are %s'.format([self.router.defaultLane, self.lanes.map(lane, lane.name)])",
        ".router.defaultLane",
    ),
    Rule(
        f"!self.lanes.exists(lane, {_DEFAULT} && self.lanes.exists(other, {_LONGER}))",
        "router.defaultLane must be the lane with the longest match.maxPromptTokens, or one without: what cannot be read for certain goes there",
        f"""'router.defaultLane %s has a smaller match.maxPromptTokens than %s, but what cannot be read goes there; use the longest lane or one without'
        .format([self.router.defaultLane, self.lanes.filter(other, self.lanes.exists(lane, {_DEFAULT} && {_LONGER})).map(other, other.name)])""",
        ".router.defaultLane",
    ),
    Rule(
        # Each pair once, or sixteen lanes of 64 callers would be over the API server's budget for one rule.
        f"!self.lanes.exists(lane, has(lane.match.callers) && self.lanes.exists(other, other.name > lane.name && {_SHARED}))",
        "lanes: a caller may be in match.callers of one lane only; take it out of the others",
        f"""'lanes: match.callers of %s share a caller; a caller may be in one lane only'
        .format([self.lanes.filter(lane, has(lane.match.callers) && self.lanes.exists(other, other.name != lane.name && {_SHARED})).map(lane, lane.name)])""",
        ".lanes",
    ),
    Rule(
        f"!self.lanes.exists(lane, {_TOO_FEW})",
        "lanes: admission.maxInFlight must be at least twice router.replicas: the router replicas share it",
        f"""'lanes: admission.maxInFlight of %s must be at least %d, twice router.replicas: the router replicas share it'
        .format([self.lanes.filter(lane, {_TOO_FEW}).map(lane, lane.name), 2 * self.router.replicas])""",
        ".lanes",
    ),
    Rule(
        f"!self.lanes.exists(lane, {_UNREACHABLE})",
        "lanes: no request can reach a lane without match.maxPromptTokens, match.callers and match.allowNamed that is not router.defaultLane",
        f"""'lanes: no request can reach %s; set match.maxPromptTokens, match.callers or match.allowNamed, or make it router.defaultLane'
        .format([self.lanes.filter(lane, {_UNREACHABLE}).map(lane, lane.name)])""",
        ".lanes",
    ),
)

NAME_LIMIT = 38
OBJECT = Rule(
    f"self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= {NAME_LIMIT}",
    f"metadata.name must start with a letter, have only a-z, 0-9 and -, and at most {NAME_LIMIT} characters: <name>-router is the DNS name of the service",
    f"'metadata.name ' + self.metadata.name + ' must start with a letter, have only a-z, 0-9 and -, and at most {NAME_LIMIT} characters:"
    " ' + self.metadata.name + '-router is the DNS name of the service'",
)

"""The operator's own settings, from the environment: one variable `FAIRLANE_<NAME>` each."""

import fnmatch

import pydantic
import pydantic_settings
from pydantic import Field

from .core import observed

_DEFAULTS = observed.Settings()


class OperatorSettings(pydantic_settings.BaseSettings):
    """What an installation decides. The chart sets these; `docs/` lists them."""

    model_config = pydantic_settings.SettingsConfigDict(env_prefix="FAIRLANE_", frozen=True, extra="ignore")

    namespaces: str = Field("", description="Namespaces to watch, separated by commas; empty: the whole cluster.")
    excluded_namespaces: str = Field("", description="Namespaces left to other operators, separated by commas; `*` stands for any characters.")
    router_image: str = Field(_DEFAULTS.router_image, description="Image with the Envoy of router pods, where the service names none.")
    agent_image: str = Field(_DEFAULTS.agent_image, description="Image of the router agent: Fairlane's own.")
    prometheus_url: str = Field("", description="Prometheus that services use unless they name one.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="Least severe log lines to print.")
    http_port: int = Field(8081, ge=0, le=65535, description="Port of /metrics and /healthz; 0 picks a free one.")
    lease_namespace: str = Field("default", description="Namespace of the leader Lease: the operator's own.")
    lease_name: str = Field("fairlane-operator", description="Name of the leader Lease.")
    lease_seconds: float = Field(15.0, gt=0, description="Seconds without a renewal after which another operator takes the Lease.")
    identity: str = Field("", description="Holder written into the Lease; empty: host name and a random suffix.")
    request_seconds: float = Field(10.0, gt=0, description="Time limit of one request to the API server, in seconds.")
    pass_seconds: float = Field(60.0, gt=0, description="Time limit of one pass over one service, in seconds.")
    resync_seconds: float = Field(300.0, gt=0, description="Longest time between two passes over one service, in seconds.")
    stalled_seconds: float = Field(120.0, gt=0, description="A pass overdue by more makes /healthz fail, in seconds.")
    concurrency: int = Field(8, ge=1, le=64, description="Passes at the same time, over different services.")

    @pydantic.field_validator("namespaces")
    @classmethod
    def _no_patterns(cls, value: str) -> str:
        """Refuse patterns: a namespaced operator has no right to list namespaces."""
        if any(character in value for character in "*?!"):
            raise ValueError(f"{value!r} has a pattern; name each namespace, separated by commas")
        return value

    @property
    def watched(self) -> tuple[str, ...]:
        """The namespaces to watch; empty: all."""
        return _names(self.namespaces)

    def serves(self, namespace: str) -> bool:
        """Whether this operator is the one of a namespace's services."""
        return not any(fnmatch.fnmatchcase(namespace, pattern) for pattern in _names(self.excluded_namespaces))


def _names(value: str) -> tuple[str, ...]:
    """What stands between the commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))

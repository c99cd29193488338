"""The agent's settings, from its environment."""

import pathlib

import pydantic
import pydantic_settings

from ..core.routing import place as places


class Settings(pydantic_settings.BaseSettings):
    """Who this agent is and where things are. Times are seconds."""

    model_config = pydantic_settings.SettingsConfigDict(populate_by_name=True, frozen=True)

    service: str = pydantic.Field(validation_alias="FAIRLANE_SERVICE")
    namespace: str = pydantic.Field(validation_alias="FAIRLANE_NAMESPACE")
    pod_name: str = pydantic.Field(validation_alias="POD_NAME")
    pod_uid: str = pydantic.Field(validation_alias="POD_UID")
    root: str = pydantic.Field(places.Place().root, validation_alias="FAIRLANE_RUN_DIR")
    api_host: str = pydantic.Field("kubernetes.default.svc", validation_alias="KUBERNETES_SERVICE_HOST")
    api_port: int = pydantic.Field(443, validation_alias="KUBERNETES_SERVICE_PORT")
    api_scheme: str = pydantic.Field("https", validation_alias="FAIRLANE_API_SCHEME")
    account_dir: pathlib.Path = pydantic.Field(pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount"), validation_alias="FAIRLANE_ACCOUNT_DIR")
    first_files_seconds: float = pydantic.Field(60.0, validation_alias="FAIRLANE_FIRST_FILES_SECONDS")
    renew_seconds: float = pydantic.Field(15.0, validation_alias="FAIRLANE_RENEW_SECONDS")
    out_of_endpoints_seconds: float = pydantic.Field(15.0, validation_alias="FAIRLANE_OUT_OF_ENDPOINTS_SECONDS")
    linger_seconds: float = pydantic.Field(3.0, validation_alias="FAIRLANE_LINGER_SECONDS")
    longest_drain_seconds: float = pydantic.Field(3600.0, validation_alias="FAIRLANE_LONGEST_DRAIN_SECONDS")

    @property
    def place(self) -> places.Place:
        """Where Envoy's files are."""
        return places.Place(root=self.root)

    @property
    def api_url(self) -> str:
        """Address of the API server; an IPv6 host gets its brackets."""
        host = f"[{self.api_host}]" if ":" in self.api_host else self.api_host
        return f"{self.api_scheme}://{host}:{self.api_port}"

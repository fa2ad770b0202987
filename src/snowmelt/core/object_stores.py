"""Where an object store is, and how to reach it: one set of options that delta-rs, Spark and our own reader share.

Keys never stand here. Each of the three takes them from the environment or from the machine's role by itself, so that
no setting, log, plan or error can show them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from snowmelt.core.errors import configuration

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_S3 = frozenset({"s3", "s3a"})
_SECRETS = frozenset({"access_key_id", "secret_access_key", "session_token", "token", "security_token"})
_OPTIONS = {
    "endpoint": "endpoint", "endpoint_url": "endpoint", "region": "region", "default_region": "region",
    "allow_http": "allow_http", "virtual_hosted_style_request": "virtual_hosted", "timeout": "timeout",
}  # fmt: skip
"""Options by their names in delta-rs, without `aws_`."""
_VARIABLES = {
    "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "allow_http": ("AWS_ALLOW_HTTP",),
    "virtual_hosted": ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST",),
}
_DEFAULT_REGION = "us-east-1"
_SECONDS = re.compile(r"(\d+)s?")
_CREDENTIALS = (
    "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider",
    "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider",
)
"""Where Spark looks for keys: the environment, the role of a Kubernetes service account, that of the machine."""


@dataclass(frozen=True, slots=True)
class S3Address:
    bucket: str
    prefix: str
    """Without slashes at its ends; empty for the whole bucket."""
    region: str
    endpoint: str | None = None
    """Of a store that is not Amazon's."""
    virtual_hosted: bool = False
    allow_http: bool = False
    timeout_seconds: int = 30

    @classmethod
    def of(cls, uri: str, options: Mapping[str, str], environ: Mapping[str, str]) -> S3Address:
        """Raises a configuration error for a store that we can't keep tables in, and for options nobody would heed."""
        scheme = _SCHEME.match(uri)
        if scheme is None or scheme[1].lower() not in _S3:
            raise configuration(
                f"Tables can't be kept at '{uri}': of object stores, only s3:// is supported.",
                hint="Set storage_root to s3://bucket/prefix or to a folder.",
            )
        bucket, _, prefix = uri[scheme.end() :].partition("/")
        if not bucket:
            raise configuration(f"The storage root '{uri}' names no bucket.", hint="Write s3://bucket/prefix.")
        given = _given(options)
        chosen = {name: given.get(name) or _variable(name, environ) for name in ("endpoint", *_VARIABLES)}
        endpoint = (chosen["endpoint"] or "").rstrip("/") or None
        plain = endpoint is not None and endpoint.startswith("http://")
        if plain and not _yes(chosen["allow_http"]):
            raise configuration(
                f"The object store's endpoint {endpoint} is not encrypted.",
                hint='Write https://, or allow it: storage_options = { aws_allow_http = "true" }.',
            )
        virtual = chosen["virtual_hosted"]
        return cls(
            bucket=bucket,
            prefix="/".join(part for part in prefix.split("/") if part),
            region=chosen["region"] or _DEFAULT_REGION,
            endpoint=endpoint,
            virtual_hosted=endpoint is None if virtual is None else _yes(virtual),
            allow_http=plain,
            timeout_seconds=_seconds(given.get("timeout", "30s")),
        )

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}" if self.prefix else f"s3://{self.bucket}"

    def for_delta(self) -> dict[str, str]:
        """Options for delta-rs, which commits on condition that nobody else has."""
        return {f"aws_{name}": value for name, value in self._common().items()} | {
            "aws_conditional_put": "etag",
            "timeout": f"{self.timeout_seconds}s",
            "connect_timeout": "5s",
        }

    def for_reader(self) -> dict[str, str]:
        """Options for obstore, but for those of its HTTP client."""
        return {name: value for name, value in self._common().items() if name != "allow_http"} | {
            "conditional_put": "etag"
        }

    def _common(self) -> dict[str, str]:
        common = {
            "region": self.region,
            "virtual_hosted_style_request": str(self.virtual_hosted).lower(),
        }
        if self.endpoint is not None:
            common["endpoint"] = self.endpoint
        return common | ({"allow_http": "true"} if self.allow_http else {})

    def for_spark(self) -> dict[str, str]:
        """Spark's settings. It puts log entries on condition that nobody else has, by a log store of ours."""
        settings = {
            "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            "fs.s3a.aws.credentials.provider": ",".join(_CREDENTIALS),
            "fs.s3a.endpoint.region": self.region,
            "fs.s3a.path.style.access": str(not self.virtual_hosted).lower(),
            "fs.s3a.connection.ssl.enabled": str(not self.allow_http).lower(),
            "fs.s3a.connection.timeout": f"{self.timeout_seconds}s",
            "fs.s3a.create.conditional.enabled": "true",
            "fs.s3a.audit.enabled": "false",
        }
        if self.endpoint is not None:
            settings["fs.s3a.endpoint"] = self.endpoint
        return {f"spark.hadoop.{name}": value for name, value in settings.items()} | {
            "spark.delta.logStore.s3.impl": "snowmelt.delta.ConditionalLogStore",
        }


def is_object_store(uri: str) -> bool:
    found = _SCHEME.match(uri)
    return found is not None and found[1].lower() != "file"


def _given(options: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in options.items():
        short = name.lower().removeprefix("aws_")
        if short in _SECRETS:
            raise configuration(
                f"'{name}' in storage_options is a secret.",
                hint=f"Remove it there, and set AWS_{short.upper()} in the environment, or give the machine a role.",
            )
        if short not in _OPTIONS:
            known = ", ".join(f"aws_{known}" for known in ("endpoint", "region", "allow_http")) + ", timeout"
            raise configuration(
                f"'{name}' in storage_options is not known for a storage root in S3.",
                hint=f"Known: {known}, aws_virtual_hosted_style_request.",
            )
        found[_OPTIONS[short]] = value
    return found


def _variable(name: str, environ: Mapping[str, str]) -> str | None:
    return next((environ[variable] for variable in _VARIABLES[name] if environ.get(variable)), None)


def _yes(value: str | None) -> bool:
    return (value or "").strip().lower() in ("1", "true", "yes", "on")


def _seconds(text: str) -> int:
    found = _SECONDS.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise configuration(f"'timeout' in storage_options is '{text}', which is no number of seconds, such as '30s'.")
    return int(found[1])

"""Requests to an OpenAI-compatible endpoint, for plugins: settings, budget, one bounded HTTP call, and the meaning of its failures.

    options = EndpointOptions(model="m", base_url="http://127.0.0.1:8080/v1", api_key_env="")
    endpoint = Endpoint(options)                      # made and closed in the same event loop
    answer = read_answer(*await endpoint.post(body))  # raises Failed, which names what may help

The client library is imported when the first `Endpoint` is made.
"""

from . import waiting
from .budget import Budget, Spent
from .client import Endpoint
from .dialect import Dialect
from .faults import Failed, error_fields, of_status
from .responses import Answer, ToolCall, Usage, check_error, read_answer
from .settings import Access, EndpointOptions, address, check_packages, is_local, missing_key, read_budget, read_key, tokens_of, variable
from .waiting import Pace, growing, repeated, retry_after

__all__ = [
    "Access",
    "Answer",
    "Budget",
    "Dialect",
    "Endpoint",
    "EndpointOptions",
    "Failed",
    "Pace",
    "Spent",
    "ToolCall",
    "Usage",
    "address",
    "check_error",
    "check_packages",
    "error_fields",
    "growing",
    "is_local",
    "missing_key",
    "of_status",
    "read_answer",
    "read_budget",
    "read_key",
    "repeated",
    "retry_after",
    "tokens_of",
    "variable",
    "waiting",
]

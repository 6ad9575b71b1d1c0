"""Exceptions for a request to the teacher that got no usable reply."""

from coevolve import InfrastructureFault


class TeacherFault(InfrastructureFault):
    """The teacher gave no usable reply to a request."""


class BudgetSpent(TeacherFault):
    """The run's or the evolution's budget leaves no room for the call; nothing was sent."""


class EndpointDown(TeacherFault):
    """The endpoint is down for the rest of this evolution; nothing was sent."""

"""Phrases of the support tickets' functions."""

from ..realizer import Phrases

PHRASES = Phrases(
    functions={
        "create_ticket": (
            "open a support ticket titled {title}",
            "create a ticket called {title} at {priority}",
            "open a ticket titled {title} with {priority}",
            "file a support ticket titled {title} that says {description}",
            "create a ticket called {title} with the description {description}",
            "open a ticket titled {title} at {priority} and describe it as {description}",
            "file a support ticket called {title} with {priority} that says {description}",
        ),
        "get_ticket": ("show me {ticket_id}", "look up {ticket_id} and tell me how it stands"),
        "close_ticket": ("close {ticket_id}", "mark {ticket_id} as closed"),
        "resolve_ticket": (
            "resolve {ticket_id} with the note {resolution}",
            "mark {ticket_id} as resolved and put down {resolution} as the resolution",
        ),
        "edit_ticket": ("change {updates} in {ticket_id}", "update {ticket_id}: change {updates}"),
        "get_user_tickets": (
            "list all the support tickets I've opened",
            "show me all my tickets",
            "list my tickets with the status {status}",
            "show me those of my tickets that have the status {status}",
        ),
        "ticket_login": (
            "log me in to the ticket system as {username} with the password {password}",
            "sign me in to the ticket system with the user name {username} and the password {password}",
        ),
        "ticket_get_login_status": ("check whether I'm logged in to the ticket system", "tell me if I'm signed in to the ticket system"),
        "logout": ("log me out of the ticket system", "sign me out of the ticket system"),
    },
    formats={
        "title": "'{}'",
        "description": '"{}"',
        "resolution": '"{}"',
        "ticket_id": "ticket {}",
        "create_ticket.priority": "priority {}",
        "get_user_tickets.status": "'{}'",
        "ticket_login.username": "'{}'",
        "ticket_login.password": "'{}'",
    },
    references={"ticket_id": "that ticket", "description": "that text", "resolution": "that text"},
)

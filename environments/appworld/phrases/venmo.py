"""Phrases of Venmo's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_friend": ("add {user_email} to my friends on Venmo",),
    "remove_friend": ("remove {user_email} from my friends on Venmo",),
    "create_transaction": (
        "send {receiver_email} {amount} on Venmo",
        "send {receiver_email} {amount} on Venmo with the note {description}",
        "send {receiver_email} {amount} on Venmo as a private payment with the note {description}",
    ),
    "update_transaction": ("change the note of my Venmo payment {transaction_id} to {description}",),
    "like_transaction": ("like the Venmo payment {transaction_id}",),
    "unlike_transaction": ("take my like off the Venmo payment {transaction_id}",),
    "create_transaction_comment": ("leave the comment {comment} under the Venmo payment {transaction_id}",),
    "create_payment_request": (
        "request {amount} from {user_email} on Venmo",
        "request {amount} from {user_email} on Venmo with the note {description}",
    ),
    "update_payment_request": (
        "change the amount of my Venmo request {payment_request_id} to {amount}",
        "change the note of my Venmo request {payment_request_id} to {description}",
        "change my Venmo request {payment_request_id} to {amount} with the note {description}",
    ),
    "delete_payment_request": ("take back my Venmo request {payment_request_id}",),
    "approve_payment_request": ("accept the Venmo request {payment_request_id}", "pay the open Venmo request {payment_request_id}"),
    "deny_payment_request": ("decline the Venmo request {payment_request_id}",),
    "remind_payment_request": ("send a reminder about my Venmo request {payment_request_id}",),
    "mark_notifications": ("mark all my Venmo notifications as read",),
    "delete_notifications": ("clear all my Venmo notifications",),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_venmo_balance": {"venmo_balance": ("How many dollars are in my Venmo balance?", "What is my Venmo balance, in dollars?")},
    "show_transaction": {
        "amount": ("How many dollars was the Venmo payment {transaction_id}?",),
        "description": ("What does the note of the Venmo payment {transaction_id} say?",),
        "like_count": ("How many likes does the Venmo payment {transaction_id} have?",),
    },
    "show_notifications_count": {
        "count": ("How many notifications do I have on Venmo?",),
    },
}
REFUSED: tuple[str, ...] = (
    "signup",
    "delete_account",
    "update_account_name",
    "login",
    "logout",
    "add_payment_card",
    "delete_payment_card",
    "update_payment_card",
    "add_to_venmo_balance",
    "withdraw_from_venmo_balance",
    "download_bank_transfer_receipt",
    "download_transaction_receipt",
)

"""Phrases of Venmo's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_friend": ("add {user_email} as a friend on Venmo",),
    "approve_payment_request": (
        "pay {payment_request_id} on Venmo",
        "approve {payment_request_id} on Venmo",
    ),
    "create_payment_request": (
        "ask {user_email} for {amount} on Venmo",
        "request {amount} from {user_email} on Venmo for {description}",
        "ask {user_email} for {amount} on Venmo with the note {description}",
    ),
    "create_transaction": (
        "send {receiver_email} {amount} on Venmo",
        "pay {receiver_email} {amount} on Venmo with the note {description}",
        "send {amount} to {receiver_email} on Venmo for {description}",
        "privately send {receiver_email} {amount} on Venmo with the note {description}{private=True}",
    ),
    "create_transaction_comment": ("leave the comment {comment} on {transaction_id} on Venmo",),
    "delete_notifications": ("clear all my notifications on Venmo",),
    "delete_payment_request": ("withdraw {payment_request_id} on Venmo",),
    "deny_payment_request": (
        "decline {payment_request_id} on Venmo",
        "turn down {payment_request_id} on Venmo",
    ),
    "like_transaction": (
        "like {transaction_id} on Venmo",
        "give {transaction_id} on Venmo a like",
    ),
    "mark_notifications": (
        "mark all my Venmo notifications as read{read=True}",
        "mark all my Venmo notifications as unread{read=False}",
    ),
    "remind_payment_request": ("send a reminder about {payment_request_id} on Venmo",),
    "remove_friend": (
        "remove {user_email} from my friends on Venmo",
        "unfriend {user_email} on Venmo",
    ),
    "unlike_transaction": ("remove my like from {transaction_id} on Venmo",),
    "update_payment_request": (
        "change {payment_request_id} on Venmo to {amount}",
        "change what {payment_request_id} on Venmo is for to {description}",
    ),
    "update_transaction": ("change the note of {transaction_id} on Venmo to {description}",),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_transaction": {
        "amount": ("How much was {transaction_id} on Venmo, in dollars?",),
        "like_count": ("How many likes does {transaction_id} have on Venmo?",),
    },
    "show_venmo_balance": {
        "venmo_balance": (
            "How much money do I have on Venmo, in dollars?",
            "What is my Venmo balance in dollars?",
        ),
    },
}
REFUSED: tuple[str, ...] = (
    "add_payment_card",
    "add_to_venmo_balance",
    "delete_account",
    "delete_notification",
    "delete_payment_card",
    "delete_transaction_comment",
    "like_transaction_comment",
    "login",
    "logout",
    "mark_notification",
    "reset_password",
    "send_password_reset_code",
    "send_verification_code",
    "signup",
    "unlike_transaction_comment",
    "update_account_name",
    "update_payment_card",
    "update_transaction_comment",
    "verify_account",
    "withdraw_from_venmo_balance",
)

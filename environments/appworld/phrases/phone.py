"""Phrases of the phone's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_contact": (
        "add {first_name} {last_name} to my contacts with the number {phone_number}",
        "save a new contact in my phone: {first_name} {last_name}, {phone_number}",
        "add {first_name} {last_name} to my contacts with the number {phone_number} and the address {email}",
    ),
    "create_alarm": (
        "set an alarm for {time}",
        "set an alarm for {time} labeled {label}",
        "set an alarm for {time} on {repeat_days}",
        "set an alarm for {time} on {repeat_days} and label it {label}",
    ),
    "delete_alarm": (
        "delete {alarm_id}",
        "get rid of {alarm_id}",
    ),
    "delete_contact": (
        "delete {contact_id} from my contacts",
        "remove {contact_id} from the contacts in my phone",
    ),
    "send_text_message": (
        "text {phone_number} {message}",
        "send {phone_number} a text message that says {message}",
    ),
    "send_voice_message": (
        "send {phone_number} a voice message that says {message}",
        "leave {phone_number} a voice message: {message}",
    ),
    "update_alarm": (
        "move {alarm_id} to {time}",
        "set {alarm_id} to {time} instead",
        "switch {alarm_id} off{enabled=False}",
        "switch {alarm_id} on again{enabled=True}",
        "change the label of {alarm_id} to {label}",
        "make {alarm_id} ring on {repeat_days}",
        "set the snooze of {alarm_id} to {snooze_minutes} minutes",
        "turn off the vibration of {alarm_id}{vibration=False}",
        "turn on the vibration of {alarm_id}{vibration=True}",
    ),
    "update_contact": (
        "change the number of {contact_id} in my contacts to {phone_number}",
        "change the e-mail address of {contact_id} in my contacts to {email}",
        "save {home_address} as the home address of {contact_id} in my contacts",
        "save {work_address} as the work address of {contact_id} in my contacts",
    ),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_alarm": {
        "time": (
            "What time is {alarm_id} set for?",
            "When does {alarm_id} go off?",
        ),
        "snooze_minutes": ("For how many minutes does {alarm_id} snooze?",),
    },
    "show_text_message": {
        "message": ("What does the text message {text_message_id} say?",),
    },
}
REFUSED: tuple[str, ...] = (
    "delete_account",
    "delete_text_message",
    "delete_voice_message",
    "login",
    "logout",
    "reset_password",
    "send_password_reset_code",
    "signup",
    "update_account_name",
)

"""Phrases of the phone's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_contact": (
        "save {first_name} {last_name} in my phone's contacts with the number {phone_number}",
        "save {first_name} {last_name} in my phone's contacts with the number {phone_number} and the email address {email}",
        "add {first_name} {last_name} to my contacts as a {relationships}, with the number {phone_number} and the email address {email}",
    ),
    "delete_contact": ("delete {contact_id} from my phone's contacts", "remove {contact_id} from the contacts on my phone"),
    "update_contact": (
        "change the number of {contact_id} in my contacts to {phone_number}",
        "save {email} as the email address of {contact_id} in my contacts",
        "save {home_address} as the home address of {contact_id} in my contacts",
        "save {work_address} as the work address of {contact_id} in my contacts",
        "note in my contacts that the birthday of {contact_id} is {birthday}",
        "list {contact_id} as my {relationships} in my contacts",
    ),
    "send_text_message": ("text {phone_number}: {message}", "send {phone_number} the text message {message}"),
    "send_voice_message": ("leave {phone_number} a voice message that says {message}",),
    "delete_text_message": ("delete the text {text_message_id} from my phone",),
    "delete_voice_message": ("delete the voice message {voice_message_id} from my phone",),
    "create_alarm": (
        "set an alarm for {time} that rings once",
        "set an alarm for {time} that rings once, labeled {label}",
        "set an alarm for {time} on {repeat_days}",
        "set an alarm for {time} on {repeat_days}, labeled {label}",
        "set an alarm labeled {label} for {time} on {repeat_days} with {snooze_minutes} minutes of snooze",
        "set an alarm labeled {label} for {time} with {snooze_minutes} minutes of snooze",
    ),
    "delete_alarm": ("delete the alarm {alarm_id}", "remove my {alarm_id} alarm from the phone"),
    "update_alarm": (
        "move the alarm {alarm_id} to {time}",
        "let the alarm {alarm_id} ring on {repeat_days} only",
        "rename the alarm {alarm_id} to {label}",
        "set the snooze of the alarm {alarm_id} to {snooze_minutes} minutes",
        "move the alarm {alarm_id} to {time} and let it ring on {repeat_days} only",
        "move the alarm {alarm_id} to {time} and rename it to {label}",
    ),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_alarm": {
        "time": ("At what time does my alarm {alarm_id} ring? Write it like 07:05.",),
        "label": ("What is the label of my alarm {alarm_id}?",),
        "snooze_minutes": ("How many minutes does my alarm {alarm_id} let me snooze?",),
    },
    "show_text_message": {"message": ("What exactly does the text {text_message_id} say?",)},
    "show_voice_message": {"message": ("What exactly is said in the voice message {voice_message_id}?",)},
}
REFUSED: tuple[str, ...] = ("signup", "delete_account", "update_account_name", "login", "logout")

"""Phrases of the workplace messages' functions."""

from ..realizer import Phrases

PHRASES = Phrases(
    functions={
        "list_users": ("tell me who is in our messaging workspace", "list the people in the messaging workspace"),
        "get_user_id": ("find out {user}'s user ID in the messaging workspace", "look up the user ID of {user} in the messaging app"),
        "message_login": ("sign me in to the messaging app, {user_id}", "log me in to the messaging workspace, {user_id}"),
        "message_get_login_status": ("check whether I'm signed in to the messaging app", "see if I'm logged in to the messaging workspace"),
        "send_message": ("send {receiver_id} the message {message}", "message {receiver_id}: {message}"),
        "delete_message": ("delete the last message I sent to {receiver_id}", "take back my latest message to {receiver_id}"),
        "view_messages_sent": ("show me all the messages I've sent", "list everything I've sent from the messaging app"),
        "add_contact": ("add {user_name} to my contacts in the messaging app", "put {user_name} on the messaging workspace's contact list"),
        "search_messages": (
            "search my messages for the word {keyword}",
            "find the messages in the messaging app that contain {keyword}",
        ),
        "get_message_stats": ("tell me how many messages and contacts I have in the messaging app", "give me my messaging statistics"),
    },
    formats={
        "message": '"{}"',
        "keyword": "'{}'",
        "message_login.user_id": "my user ID is {}",
        "receiver_id": "user {}",
    },
    references={"receiver_id": ("{user}", "{user_name}"), "message_login.user_id": "I'm {user}"},
)

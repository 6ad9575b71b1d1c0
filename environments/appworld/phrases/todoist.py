"""Phrases of Todoist's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_label_to_task": ("put the label {label_id} on {task_id} in Todoist",),
    "assign_or_unassign_task": (
        "assign {task_id} in Todoist to {assignee_email}",
        "hand {task_id} in Todoist over to {assignee_email}",
    ),
    "create_label": ("make a new label {name} in Todoist",),
    "create_project": (
        "start a new Todoist project called {name}",
        "set up a project named {name} in Todoist",
    ),
    "create_section": ("add a section {name} to {project_id} in Todoist",),
    "create_sub_task": ("add a subtask {title} to {task_id} in Todoist",),
    "create_task": (
        "add a task {title} to {project_id} in Todoist",
        "put a task {title} into {project_id} in Todoist",
        "add a task {title} to {project_id} in Todoist, due on {due_date}",
        "add a task {title} with {priority} priority to {project_id} in Todoist",
    ),
    "delete_label": ("delete the label {label_id} in Todoist",),
    "delete_notifications": ("clear all my notifications in Todoist",),
    "delete_project": (
        "delete {project_id} in Todoist",
        "get rid of {project_id} in Todoist",
    ),
    "delete_section": ("delete the section {section_id} in Todoist",),
    "delete_sub_task": ("delete the subtask {sub_task_id} in Todoist",),
    "delete_task": ("delete {task_id} in Todoist",),
    "mark_notifications": (
        "mark all my Todoist notifications as read{read=True}",
        "mark all my Todoist notifications as unread{read=False}",
    ),
    "post_task_comment": ("leave the comment {content} on {task_id} in Todoist",),
    "remove_collaborator_from_project": ("remove {email} from {project_id} in Todoist",),
    "remove_label_from_task": ("take the label {label_id} off {task_id} in Todoist",),
    "send_project_invite": ("invite {email} to {project_id} in Todoist",),
    "update_label": ("rename the label {label_id} in Todoist to {name}",),
    "update_project": (
        "rename {project_id} in Todoist to {name}",
        "mark {project_id} in Todoist as a favorite{is_favorite=True}",
        "remove {project_id} in Todoist from my favorites{is_favorite=False}",
        "archive {project_id} in Todoist{is_archived=True}",
        "bring {project_id} in Todoist back from the archive{is_archived=False}",
        "set the description of {project_id} in Todoist to {description}",
    ),
    "update_section": ("rename the section {section_id} in Todoist to {name}",),
    "update_sub_task": (
        "tick off the subtask {sub_task_id} in Todoist{is_completed=True}",
        "reopen the subtask {sub_task_id} in Todoist{is_completed=False}",
        "rename the subtask {sub_task_id} in Todoist to {title}",
    ),
    "update_task": (
        "tick off {task_id} in Todoist{is_completed=True}",
        "mark {task_id} in Todoist as done{is_completed=True}",
        "reopen {task_id} in Todoist{is_completed=False}",
        "rename {task_id} in Todoist to {title}",
        "set the due date of {task_id} in Todoist to {due_date}",
        "give {task_id} in Todoist {priority} priority",
    ),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_project": {
        "num_tasks": ("How many tasks does {project_id} have in Todoist?",),
    },
    "show_task": {
        "priority": ("What priority does {task_id} have in Todoist?",),
    },
}
REFUSED: tuple[str, ...] = (
    "accept_project_invite",
    "delete_account",
    "delete_attachment",
    "delete_notification",
    "delete_project_invite",
    "delete_task_comment",
    "download_attachment",
    "login",
    "logout",
    "mark_notification",
    "reset_password",
    "send_password_reset_code",
    "send_verification_code",
    "signup",
    "update_account_name",
    "update_task_comment",
    "upload_attachment",
    "verify_account",
)

"""Phrases of Todoist's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "create_project": (
        "start a Todoist project called {name}",
        "start a {color} Todoist project called {name}",
        "start a Todoist project called {name} with the description {description}",
    ),
    "update_project": (
        "rename the Todoist project {project_id} to {name}",
        "change the color of the Todoist project {project_id} to {color}",
        "set the description of the Todoist project {project_id} to {description}",
    ),
    "delete_project": ("delete the Todoist project {project_id} with all its tasks",),
    "create_section": ("add a section {name} to the Todoist project {project_id}",),
    "update_section": ("rename the section {section_id} in Todoist to {name}",),
    "delete_section": ("delete the section {section_id} in Todoist",),
    "send_project_invite": ("invite {email} to the Todoist project {project_id}",),
    "remove_collaborator_from_project": ("take {email} off the Todoist project {project_id}",),
    "create_task": (
        "add the task {title} to the Todoist project {project_id}",
        "add the task {title} to the Todoist project {project_id}, due {due_date}",
        "add the task {title} with {priority} priority to the Todoist project {project_id}",
        "add the task {title} with {priority} priority to the Todoist project {project_id}, due {due_date}",
        "add the task {title} to the section {section_id} of the Todoist project {project_id}",
    ),
    "update_task": (
        "rename the Todoist task {task_id} to {title}",
        "make the Todoist task {task_id} due {due_date}",
        "give the Todoist task {task_id} {priority} priority",
        "set the description of the Todoist task {task_id} to {description}",
        "give the Todoist task {task_id} {priority} priority and make it due {due_date}",
    ),
    "delete_task": ("delete the Todoist task {task_id}",),
    "assign_or_unassign_task": ("assign the Todoist task {task_id} to {assignee_email}",),
    "create_sub_task": (
        "add the subtask {title} to the Todoist task {task_id}",
        "add the subtask {title}, due {due_date}, to the Todoist task {task_id}",
    ),
    "update_sub_task": ("rename the subtask {sub_task_id} in Todoist to {title}",),
    "delete_sub_task": ("delete the subtask {sub_task_id} in Todoist",),
    "create_label": ("make a Todoist label {name}", "make a {color} Todoist label {name}"),
    "update_label": ("rename the Todoist label {label_id} to {name}", "change the color of the Todoist label {label_id} to {color}"),
    "delete_label": ("delete the Todoist label {label_id}",),
    "add_label_to_task": ("put the label {label_id} on the Todoist task {task_id}",),
    "remove_label_from_task": ("take the label {label_id} off the Todoist task {task_id}",),
    "post_task_comment": ("comment {content} on the Todoist task {task_id}",),
    "delete_notifications": ("clear all my Todoist notifications",),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_task": {
        "priority": ("What priority does the Todoist task {task_id} have?",),
        "description": ("What does the description of the Todoist task {task_id} say?",),
        "duration": ("What number is noted as the duration of the Todoist task {task_id}?",),
        "num_sub_tasks": ("How many subtasks does the Todoist task {task_id} have?",),
    },
    "show_project": {
        "num_tasks": ("How many tasks are in the Todoist project {project_id}?",),
        "color": ("What color does the Todoist project {project_id} have?",),
        "description": ("What does the description of the Todoist project {project_id} say?",),
    },
}
REFUSED: tuple[str, ...] = (
    "signup",
    "delete_account",
    "update_account_name",
    "login",
    "logout",
    "accept_project_invite",
    "delete_project_invite",
    "upload_attachment",
    "download_attachment",
    "delete_attachment",
)

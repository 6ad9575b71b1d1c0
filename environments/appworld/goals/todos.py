"""Goals about projects and tasks (Todoist)."""

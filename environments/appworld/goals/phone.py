"""Goals about contacts, messages and alarms (phone)."""

"""The loop, the domain model, the hook specs, the plugin loader, configuration, the store and the command line."""

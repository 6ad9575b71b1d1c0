"""The environments that come with coevolve, one package each."""

"""SHOOTSREADY: reports how many shoots of a managed seed are ready, in condition ShootsReady."""

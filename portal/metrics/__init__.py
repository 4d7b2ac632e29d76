"""What Prometheus reads of the portal; it composes the apps, as `portal.urls` does."""

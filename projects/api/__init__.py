"""The REST API: tokens, authentication, serializers, its OpenAPI description, and the endpoints of projects."""

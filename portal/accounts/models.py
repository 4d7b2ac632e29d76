"""People and tenants.

A tenant is a set of namespaces over clusters and the Kubernetes group that its
members act with. Clusters are named, not referenced: accounts know nothing of
the inventory.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from portal.accounts.domain.roles import Permission, Role, permissions_of

_not_system = RegexValidator(
    r"^(?!system:)[A-Za-z0-9:@._-]+$",
    _("A name that starts with “system:” belongs to Kubernetes itself."),
)


class User(AbstractUser):
    """A person. `username` is also the name they have in Kubernetes."""

    roles = ArrayField(
        models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role]),
        default=list,
        blank=True,
    )

    @property
    def permissions(self) -> frozenset[Permission]:
        """What this person may do in the portal; makes no query."""
        return permissions_of(self.roles)

    def may(self, permission: Permission) -> bool:
        """Return whether this person has a permission; makes no query."""
        return permission in self.permissions


class Tenant(models.Model):
    """A team that shares namespaces; its members act with `group` in Kubernetes."""

    name = models.SlugField(max_length=63, unique=True)
    group = models.CharField(max_length=128, unique=True, validators=[_not_system])
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="tenants"
    )

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's place in a tenant."""

    user = models.ForeignKey(User, models.CASCADE)
    tenant = models.ForeignKey(Tenant, models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "tenant"], name="accounts_membership_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"


class TenantNamespace(models.Model):
    """One namespace of one cluster, which belongs to one tenant."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="namespaces")
    cluster = models.CharField(max_length=63, help_text="the cluster's name")
    namespace = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace"], name="accounts_namespace_one_tenant"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}"

"""People and tenants.

A tenant is a set of namespaces over clusters and the Kubernetes group that its
members act with. Clusters are named, not referenced: accounts know nothing of
the inventory.
"""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

import pghistory
from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from portal.accounts.domain.roles import Permission, Role, permissions_of

not_system = RegexValidator(
    r"^(?!system:)[A-Za-z0-9:@._-]+$",
    _("A name that starts with “system:” belongs to Kubernetes itself."),
)

_dns_label = RegexValidator(
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    _("A namespace is written in small letters, digits and “-”, such as ai-training."),
)


class PeopleManager(UserManager["User"]):
    """Makes people; whoever is made as a superuser has the role of an administrator."""

    def create_superuser(
        self,
        username: str,
        email: str | None = None,
        password: str | None = None,
        **extra: Any,
    ) -> User:
        """Make the first administrator, as `manage.py createsuperuser` does."""
        extra.setdefault("roles", [Role.ADMIN.value])
        return super().create_superuser(username, email, password, **extra)


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(),
    append_only=True,
    fields=["id", "username", "roles", "is_active", "password_set_at", "link_given_at"],
    model_name="UserEvent",
)
class User(AbstractUser):
    """A person. `username` is also the name they have in Kubernetes."""

    roles = ArrayField(
        models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role]),
        default=list,
        blank=True,
    )

    # The tenant whose service account it is: no person, and it cannot sign in.
    service_of = models.ForeignKey(
        "Tenant",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="service_accounts",
    )

    # Who they are to the sign-in provider; "" for an account with a password.
    issuer = models.CharField(max_length=255, default="", blank=True, editable=False)
    subject = models.CharField(max_length=255, default="", blank=True, editable=False)

    # When the password was last set by its owner; null: by whoever made the account.
    password_set_at = models.DateTimeField(null=True, blank=True, editable=False)

    # When an administrator last got the link by which one chooses a password.
    link_given_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[PeopleManager] = PeopleManager()

    # What a token lets through; None where the person themself is here.
    limited_to: frozenset[Permission] | None = None

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["issuer", "subject"],
                condition=~models.Q(subject=""),
                name="accounts_user_one_of_a_subject",
            )
        ]

    @property
    def permissions(self) -> frozenset[Permission]:
        """What this person may do in the portal; makes no query.

        Through a token that is what both the person may and the token lets through.
        """
        own = permissions_of(self.roles)
        return own if self.limited_to is None else own & self.limited_to

    def may(self, permission: Permission) -> bool:
        """Return whether this person has a permission; makes no query."""
        return permission in self.permissions


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(),
    pghistory.DeleteEvent(),
    append_only=True,
    fields=["id", "name", "group"],
    model_name="TenantEvent",
)
class Tenant(models.Model):
    """A team that shares namespaces; its members act with `group` in Kubernetes.

    `version` counts changes by hand, for compare-and-set.
    """

    name = models.SlugField(max_length=63, unique=True)
    group = models.CharField(max_length=128, unique=True, validators=[not_system])
    version = models.PositiveIntegerField(default=1, editable=False)
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="tenants"
    )

    def __str__(self) -> str:
        return self.name


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.DeleteEvent(),
    append_only=True,
    model_name="MembershipEvent",
)
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


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.DeleteEvent(),
    append_only=True,
    model_name="TenantNamespaceEvent",
)
class TenantNamespace(models.Model):
    """One namespace of one cluster, which belongs to one tenant."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="namespaces")
    cluster = models.CharField(max_length=63, help_text="the cluster's name")
    namespace = models.CharField(max_length=63, validators=[_dns_label])

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace"], name="accounts_namespace_one_tenant"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}"


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.DeleteEvent(),
    append_only=True,
    model_name="GroupMappingEvent",
)
class GroupMapping(models.Model):
    """What a group of the sign-in provider gives: one role, or one tenant."""

    group = models.CharField(max_length=255)
    role = models.CharField(
        max_length=16,
        choices=[(r.value, r.value) for r in Role],
        default="",
        blank=True,
    )
    tenant = models.ForeignKey(
        Tenant, models.CASCADE, null=True, blank=True, related_name="mappings"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["group", "role", "tenant"],
                nulls_distinct=False,
                name="accounts_group_gives_once",
            ),
            models.CheckConstraint(
                condition=models.Q(role="", tenant__isnull=False)
                | (~models.Q(role="") & models.Q(tenant=None)),
                name="accounts_group_gives_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group} gives {self.role or self.tenant}"


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(),
    pghistory.DeleteEvent(),
    append_only=True,
    fields=["id", "user", "confirmed_at"],
    model_name="SecondFactorEvent",
)
class SecondFactor(models.Model):
    """What a person's phone shows codes from (RFC 6238), beside their password.

    Not asked for before it is confirmed by a first code.
    """

    user = models.OneToOneField(User, models.CASCADE, related_name="second_factor")
    secret_encrypted = models.CharField(max_length=255)  # base32, encrypted
    begun_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, blank=True)
    # The time step of the last code that was taken: none is taken twice.
    last_step = models.BigIntegerField(default=0)
    # Wrong codes since `failing_since`; here, since a cache may be away.
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"second factor of {self.user_id}"


@pghistory.track(
    pghistory.UpdateEvent(),
    append_only=True,
    fields=["id", "user", "used_at"],
    model_name="RecoveryCodeEvent",
)
class RecoveryCode(models.Model):
    """A code that signs in once where the phone is lost; only its digest is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)  # SHA-256, hex
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "digest"], name="accounts_recovery_code_once"
            )
        ]

    def __str__(self) -> str:
        return f"recovery code of {self.user_id}"


class ApiToken(models.Model):
    """What automation signs in with: never more than its owner, and for a while.

    Only the digest is stored; the token itself is shown once, when it is made.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="api_tokens")
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=63)
    # The first characters, by which people tell tokens apart.
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)  # SHA-256, hex
    scopes = ArrayField(models.CharField(max_length=32))  # values of Scope
    # Networks from which alone it works, such as "10.0.0.0/8"; none: from anywhere.
    addresses = ArrayField(models.CharField(max_length=43), default=list, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.user}"

"""The values that an entry of the audit log can have: the actions, the outcomes, the means by which an actor
acted, and the kinds of targets.
"""

from enum import StrEnum


class AuditAction(StrEnum):
    """The actions that the audit log can record, named `THING.CHANGE`. Names may be added, but never renamed,
    because stored rows contain them.
    """

    SIGN_IN_SUCCEEDED = "sign_in.succeeded"
    SIGN_IN_REFUSED = "sign_in.refused"
    SIGN_OUT = "sign_in.ended"
    SIGN_IN_LINK_CREATED = "sign_in_link.created"
    SESSION_REVOKED = "session.revoked"
    PASSWORD_CHANGED = "password.changed"  # noqa: S105 (the name of an action)
    PASSWORD_DELETED = "password.deleted"  # noqa: S105
    TWO_FACTOR_ENABLED = "two_factor.enabled"
    TWO_FACTOR_DISABLED = "two_factor.disabled"
    RECOVERY_CODES_RENEWED = "recovery_codes.renewed"
    IDENTITY_CONNECTED = "identity.connected"
    IDENTITY_DISCONNECTED = "identity.disconnected"
    DEVICE_ALLOWED = "device.allowed"
    DEVICE_REFUSED = "device.refused"
    KEY_CREATED = "key.created"
    KEY_DELETED = "key.deleted"
    MEMBER_CREATED = "member.created"
    INVITATION_SENT_AGAIN = "invitation.sent_again"
    MEMBER_RENAMED = "member.renamed"
    MEMBER_ROLE_CHANGED = "member.role_changed"
    MEMBER_DISABLED = "member.disabled"
    MEMBER_ENABLED = "member.enabled"
    MEMBER_DELETED = "member.deleted"
    MEMBER_EXPORTED = "member.exported"
    MEMBER_MOVED = "member.moved"
    ORGANISATION_CREATED = "organisation.created"
    ORGANISATION_RENAMED = "organisation.renamed"
    ORGANISATION_DELETED = "organisation.deleted"
    TEAM_CREATED = "team.created"
    TEAM_RENAMED = "team.renamed"
    TEAM_DELETED = "team.deleted"
    TEAM_MEMBER_ADDED = "team_member.added"
    TEAM_MEMBER_REMOVED = "team_member.removed"
    TEAM_MAINTAINER_ADDED = "team_maintainer.added"
    TEAM_MAINTAINER_REMOVED = "team_maintainer.removed"
    TEAM_REPOSITORIES_CHANGED = "team.repositories_changed"
    SECRET_CREATED = "secret.created"  # noqa: S105 (the name of an action)
    SECRET_CHANGED = "secret.changed"  # noqa: S105
    SECRET_DELETED = "secret.deleted"  # noqa: S105
    SECRET_USED = "secret.used"  # noqa: S105
    GIT_CREDENTIAL_CHANGED = "git_credential.changed"
    GIT_CREDENTIAL_DELETED = "git_credential.deleted"
    GIT_HOST_CONNECTED = "git_host.connected"
    GIT_TOKEN_RENEWAL_REFUSED = "git_token.renewal_refused"  # noqa: S105 (the name of an action)
    GIT_TOKEN_REVOKED = "git_token.revoked"  # noqa: S105
    GIT_APP_CHANGED = "git_app.changed"
    GIT_APP_DELETED = "git_app.deleted"
    MCP_SERVER_CHANGED = "mcp_server.changed"
    MCP_SERVER_DELETED = "mcp_server.deleted"
    EGRESS_CHANGED = "egress.changed"
    EGRESS_CREDENTIAL_CHANGED = "egress_credential.changed"
    EGRESS_CREDENTIAL_DELETED = "egress_credential.deleted"
    PROFILE_CHANGED = "profile.changed"
    PROFILE_DELETED = "profile.deleted"
    PROFILE_SHARED = "profile.shared"
    PROFILE_UNSHARED = "profile.unshared"
    MARKETPLACES_CHANGED = "marketplaces.changed"
    SKILL_INSTALLED = "skill.installed"
    SKILL_UPDATED = "skill.updated"
    SKILL_REMOVED = "skill.removed"
    SKILL_SWITCHED = "skill.switched"
    CONFIRMATION_CHANGED = "confirmation.changed"
    SETTING_CHANGED = "setting.changed"
    SANDBOX_SPEC_CHANGED = "sandbox_spec.changed"
    SPENDING_LIMIT_CHANGED = "spending_limit.changed"
    TRUST_GRANTED = "trust.granted"
    TRUST_REVOKED = "trust.revoked"
    AGENT_ACTION_APPROVED = "agent_action.approved"
    AGENT_ACTION_REFUSED = "agent_action.refused"
    CONVERSATION_SHARED = "conversation.shared"
    CONVERSATION_UNSHARED = "conversation.unshared"
    CONVERSATION_LINK_CREATED = "conversation_link.created"
    CONVERSATION_LINK_REVOKED = "conversation_link.revoked"
    CONVERSATION_EXPORTED = "conversation.exported"
    CONVERSATION_IMPORTED = "conversation.imported"
    CONVERSATION_RETIRED = "conversation.retired"
    CONVERSATION_RETENTION_CHANGED = "conversation_retention.changed"
    MODEL_KEY_CREATED = "model_key.created"
    MODEL_KEY_REVOKED = "model_key.revoked"
    GIT_PUSHED = "git.pushed"
    COMMIT_SIGNED = "commit.signed"
    COMMIT_SIGNING_CHANGED = "commit_signing.changed"
    PULL_REQUEST_OPENED = "pull_request.opened"
    CALLBACK_CHANGED = "callback.changed"
    CALLBACK_DELETED = "callback.deleted"
    TRIGGER_CHANGED = "trigger.changed"
    TRIGGER_DELETED = "trigger.deleted"
    JOB_RETRIED = "job.retried"
    JOB_CANCELLED = "job.cancelled"
    AUDIT_LOG_EXPORTED = "audit_log.exported"
    AUDIT_STREAM_CHANGED = "audit_stream.changed"
    AUDIT_STREAM_DELETED = "audit_stream.deleted"
    AUDIT_LOG_TRIMMED = "audit_log.trimmed"
    ENCRYPTION_KEY_ROTATED = "encryption_key.rotated"
    INSTALLATION_BACKED_UP = "installation.backed_up"


class AuditOutcome(StrEnum):
    SUCCESS = "success"
    REFUSED = "refused"


class ActorMeans(StrEnum):
    """How the actor of an entry of the audit log was authenticated: a signed-in browser; an API key; a
    sign-in by a one-time link, a password, an identity provider or a device's code; a sandbox that works for
    a user; a command on the server's machine; or the server itself.
    """

    SESSION = "session"
    KEY = "key"
    LINK = "link"
    PASSWORD = "password"  # noqa: S105 (a means)
    PROVIDER = "provider"
    DEVICE = "device"
    SANDBOX = "sandbox"
    COMMAND_LINE = "command_line"
    SERVER = "server"


class AuditTarget(StrEnum):
    """The kinds of objects that an entry of the audit log can be about, such as a user or a secret. An entry
    stores this kind in `target_kind` and the id of the object, as text, in `target_id`.
    """

    USER = "user"
    SESSION = "session"
    KEY = "key"
    DEVICE = "device"
    IDENTITY = "identity"
    TEAM = "team"
    SECRET = "secret"  # noqa: S105 (a kind of thing)
    GIT_HOST = "git_host"
    SIGNING_KEY = "signing_key"
    MCP_SERVER = "mcp_server"
    NETWORK = "network"
    SANDBOX_SPEC = "sandbox_spec"
    PROFILE = "profile"
    CONFIRMATION = "confirmation"
    SETTING = "setting"
    SPENDING_LIMIT = "spending_limit"
    MARKETPLACE = "marketplace"
    SKILL = "skill"
    TRUST_GRANT = "trust_grant"
    CONVERSATION = "conversation"
    REPOSITORY = "repository"
    CALLBACK = "callback"
    TRIGGER = "trigger"
    JOB = "job"
    AUDIT_LOG = "audit_log"
    INSTALLATION = "installation"
    ORGANISATION = "organisation"

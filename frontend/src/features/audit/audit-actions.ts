import type { TFunction } from 'i18next'
import type { AuditAction } from '@/api/audit'

/** All that the log can tell of, in the order of the filter. */
export const AUDIT_ACTIONS = [
  'sign_in.succeeded',
  'sign_in.refused',
  'sign_in.ended',
  'sign_in_link.created',
  'session.revoked',
  'password.changed',
  'password.deleted',
  'two_factor.enabled',
  'two_factor.disabled',
  'recovery_codes.renewed',
  'identity.connected',
  'identity.disconnected',
  'key.created',
  'key.deleted',
  'member.created',
  'member.renamed',
  'member.role_changed',
  'member.disabled',
  'member.enabled',
  'member.deleted',
  'member.exported',
  'secret.created',
  'secret.changed',
  'secret.deleted',
  'secret.used',
  'git_credential.changed',
  'git_credential.deleted',
  'git_host.connected',
  'git_token.renewal_refused',
  'git_token.revoked',
  'git_app.changed',
  'git_app.deleted',
  'mcp_server.changed',
  'mcp_server.deleted',
  'egress.changed',
  'egress_credential.changed',
  'egress_credential.deleted',
  'profile.changed',
  'profile.deleted',
  'profile.shared',
  'profile.unshared',
  'confirmation.changed',
  'spending_limit.changed',
  'trust.granted',
  'trust.revoked',
  'agent_action.approved',
  'agent_action.refused',
  'conversation.shared',
  'conversation.unshared',
  'conversation_link.created',
  'conversation_link.revoked',
  'conversation.exported',
  'conversation.imported',
  'model_key.created',
  'model_key.revoked',
  'git.pushed',
  'pull_request.opened',
  'callback.changed',
  'callback.deleted',
  'trigger.changed',
  'trigger.deleted',
  'job.retried',
  'job.cancelled',
  'audit_log.exported',
  'audit_log.trimmed',
  'installation.backed_up',
] as const satisfies AuditAction[]

// Does not compile when the server has an action that the list above lacks.
type Listed = (typeof AUDIT_ACTIONS)[number]
type Underscored<Name> = Name extends `${infer Thing}.${infer Change}` ? `${Thing}_${Change}` : never

export function labelOfAction(t: TFunction, action: AuditAction): string {
  const listed: Listed = action
  const name = listed.replace('.', '_') as Underscored<Listed>
  return t(`audit.action_${name}`, { defaultValue: action })
}

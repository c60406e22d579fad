/** Texts for users whose sign-in ended or was refused, by the code of the refusal. */
const REASONS = {
  page_proof_missing: 'sign_in.lost_proof',
  account_disabled: 'sign_in.account_disabled',
  oidc_already_connected: 'sign_in.oidc_already_connected',
  oidc_attempt_expired: 'sign_in.oidc_attempt_expired',
  oidc_domain_not_allowed: 'sign_in.oidc_domain_not_allowed',
  oidc_identity_invalid: 'sign_in.oidc_identity_invalid',
  oidc_identity_taken: 'sign_in.oidc_identity_taken',
  oidc_no_role: 'sign_in.oidc_no_role',
  oidc_provider_unreachable: 'sign_in.oidc_provider_unreachable',
  oidc_refused_by_provider: 'sign_in.oidc_refused_by_provider',
} as const

/** The text for a code; null for one that needs no explanation. */
export function reasonOf(code: string) {
  return Object.hasOwn(REASONS, code) ? REASONS[code as keyof typeof REASONS] : null
}

/** Translation keys of the texts for an ended or refused sign-in, by the code of the refusal. */
const TEXT_KEYS = {
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
  saml_already_connected: 'sign_in.oidc_already_connected',
  saml_attempt_expired: 'sign_in.oidc_attempt_expired',
  saml_domain_not_allowed: 'sign_in.saml_domain_not_allowed',
  saml_identity_taken: 'sign_in.oidc_identity_taken',
  saml_no_role: 'sign_in.oidc_no_role',
  saml_provider_unreachable: 'sign_in.saml_provider_unreachable',
  saml_refused_by_provider: 'sign_in.oidc_refused_by_provider',
  saml_response_invalid: 'sign_in.oidc_identity_invalid',
  saml_response_used: 'sign_in.saml_response_used',
  saml_xmlsec1_missing: 'sign_in.saml_xmlsec1_missing',
} as const

/** Returns the translation key of the text for a code. Returns null if the code needs no explanation. */
export function refusalTextKey(code: string) {
  return Object.hasOwn(TEXT_KEYS, code) ? TEXT_KEYS[code as keyof typeof TEXT_KEYS] : null
}

import type { PasswordSettings } from '@/api/people/passwords'

export function fakePasswordSettings(overrides: Partial<PasswordSettings> = {}): PasswordSettings {
  return {
    is_offered: true,
    login_name: null,
    suggested_login_name: 'ada.lovelace',
    changed_at: null,
    totp_since: null,
    recovery_codes_left: 0,
    ...overrides,
  }
}

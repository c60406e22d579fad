import type { Permission } from '@/api/types'

/**
 * The choices of permissions that the form offers, by the name of their label. Null means all permissions of
 * the user.
 */
export const KEY_SCOPES = {
  all: null,
  work: ['read', 'work'],
  read: ['read'],
} as const satisfies Record<string, Permission[] | null>

export type KeyScopesName = keyof typeof KEY_SCOPES

/**
 * Returns the name of the choice with these permissions. Returns null if no choice has them, because a
 * program made the key.
 */
export function nameOfScopes(scopes: Permission[] | null): KeyScopesName | null {
  const names = Object.keys(KEY_SCOPES) as KeyScopesName[]
  return names.find((name) => KEY_SCOPES[name]?.join() === scopes?.join()) ?? null
}

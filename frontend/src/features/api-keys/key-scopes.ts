import type { Permission } from '@/api/types'

/** What the form offers, by the name of its label. Null: all that the user may do. */
export const KEY_SCOPES = {
  all: null,
  work: ['read', 'work'],
  read: ['read'],
} as const satisfies Record<string, Permission[] | null>

export type KeyScopesName = keyof typeof KEY_SCOPES

/** Which of the offered ones these are; null if a program chose others. */
export function nameOfScopes(scopes: Permission[] | null): KeyScopesName | null {
  const names = Object.keys(KEY_SCOPES) as KeyScopesName[]
  return names.find((name) => KEY_SCOPES[name]?.join() === scopes?.join()) ?? null
}

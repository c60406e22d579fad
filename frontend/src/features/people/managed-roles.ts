import { GIVEN_ROLES, type GivenRole } from '@/api/people/people'
import type { User } from '@/api/types'

/** The roles that this user may give, and whose people they may change. */
export function managedRoles({ role }: User): readonly GivenRole[] {
  if (role === 'owner') return GIVEN_ROLES
  return role === 'admin' ? ['member', 'viewer'] : []
}

export function isGivenRole(role: User['role']): role is GivenRole {
  return role !== 'owner'
}

import { ASSIGNABLE_ROLES, type AssignableRole } from '@/api/people/people'
import type { User } from '@/api/types'

/** Returns the roles that this user may assign. The user may change people with these roles. */
export function assignableRoles({ role }: User): readonly AssignableRole[] {
  if (role === 'owner') return ASSIGNABLE_ROLES
  return role === 'admin' ? ['member', 'viewer'] : []
}

export function isAssignableRole(role: User['role']): role is AssignableRole {
  return role !== 'owner'
}

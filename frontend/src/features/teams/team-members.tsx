import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { peopleQuery } from '@/api/people/people'
import {
  teamQuery,
  useChangeMaintainer,
  useChangeMember,
  type Team,
  type TeamMember,
} from '@/api/people/teams'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { IconButton } from '@/ui/form/icon-button'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'

export interface TeamMembersProps {
  team: Team
  mayChange: boolean
}

export function TeamMembers({ team, mayChange }: TeamMembersProps) {
  const { t } = useTranslation()
  const query = useQuery(teamQuery(team.id))
  const change = useChangeMember(team.id)
  const maintain = useChangeMaintainer(team.id)
  if (query.isPending) return <SkeletonList rows={1} label={t('teams.loading_members')} className="h-10" />
  if (!query.data) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const { members } = query.data
  return (
    <div className="space-y-2 pt-1 pl-6">
      {members.length === 0 && <p className="text-sm text-muted">{t('teams.no_members')}</p>}
      {members.length > 0 && (
        <ul aria-label={t('teams.members_of', { name: team.name })}>
          {members.map((member) => (
            <li key={member.user_id} className="flex min-h-9 flex-wrap items-center gap-2 text-sm">
              <span className="min-w-0 break-words">{member.name}</span>
              {member.is_service && <Badge>{t('service_accounts.badge')}</Badge>}
              {member.is_disabled && <Badge>{t('people.disabled')}</Badge>}
              {member.provider && <Badge>{t('teams.by_provider', { provider: member.provider })}</Badge>}
              {member.is_maintainer && <Badge>{t('teams.maintainer')}</Badge>}
              {mayChange && (
                <Button
                  size="sm"
                  variant="ghost"
                  className="ml-auto"
                  isBusy={maintain.isPending && maintain.variables.userId === member.user_id}
                  aria-label={t(member.is_maintainer ? 'teams.unmake_maintainer' : 'teams.make_maintainer', {
                    name: member.name,
                  })}
                  onClick={() =>
                    maintain.mutate({ userId: member.user_id, isMaintainer: !member.is_maintainer })
                  }
                >
                  {t(member.is_maintainer ? 'teams.end_maintainer' : 'teams.set_maintainer')}
                </Button>
              )}
              {mayChange && (
                <IconButton
                  size="sm"
                  label={t('teams.remove', { name: member.name })}
                  hasTooltip={false}
                  icon={<X aria-hidden className="size-4" />}
                  onClick={() => change.mutate({ userId: member.user_id, isMember: false })}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && members.length > 0 && <p className="text-xs text-muted">{t('teams.maintainer_hint')}</p>}
      {mayChange && (
        <AddMember
          team={team}
          members={members}
          isBusy={change.isPending}
          onAdd={(userId) => change.mutate({ userId, isMember: true })}
        />
      )}
    </div>
  )
}

interface AddMemberProps {
  team: Team
  members: TeamMember[]
  isBusy: boolean
  onAdd: (userId: string) => void
}

function AddMember({ team, members, isBusy, onAdd }: AddMemberProps) {
  const { t } = useTranslation()
  const people = useQuery(peopleQuery()).data ?? []
  const known = new Set(members.map((member) => member.user_id))
  const others = people.filter((person) => !known.has(person.id) && person.disabled_at === null)
  return (
    <Select
      aria-label={t('teams.add_to', { name: team.name })}
      className="max-w-xs"
      value=""
      disabled={isBusy || others.length === 0}
      onChange={(event) => event.target.value && onAdd(event.target.value)}
    >
      <option value="">{t(others.length === 0 ? 'teams.all_in' : 'teams.add')}</option>
      {others.map((person) => (
        <option key={person.id} value={person.id}>
          {person.is_service ? t('teams.service_account', { name: person.name }) : person.name}
        </option>
      ))}
    </Select>
  )
}

import { useQuery } from '@tanstack/react-query'
import { UsersRound } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { teamsQuery, useDeleteTeam, type Team } from '@/api/people/teams'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { RenameTeam } from './rename-team'
import { TeamForm } from './team-form'
import { TeamRow } from './team-row'

/** The teams. A team is a group of people with which conversations can be shared. */
export function TeamsSection() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  const query = useQuery(teamsQuery())
  const [renamed, setRenamed] = useState<Team | null>(null)
  const [doomed, setDoomed] = useState<Team | null>(null)
  const mayChange = me !== undefined && isAdministrator(me)
  return (
    <section aria-label={t('teams.title')}>
      <SectionHeader title={t('teams.title')} lead={t(mayChange ? 'teams.lead' : 'teams.lead_own')} />
      {mayChange && <TeamForm className="mb-5" />}
      {query.isPending && <SkeletonList rows={2} label={t('teams.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<UsersRound />} title={t(mayChange ? 'teams.empty' : 'teams.empty_own')}>
              {t(mayChange ? 'teams.empty_hint' : 'teams.empty_own_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((team) => (
                <TeamRow
                  key={team.id}
                  team={team}
                  {...(mayChange && { onRename: () => setRenamed(team), onDelete: () => setDoomed(team) })}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
      {renamed && <RenameTeam team={renamed} onClose={() => setRenamed(null)} />}
      {doomed && <DeleteTeam team={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function DeleteTeam({ team, onClose }: { team: Team; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteTeam()
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('teams.delete_title', { name: team.name })}
      description={t('teams.delete_text')}
      confirmLabel={t('teams.delete')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(team.id, { onSettled: onClose })}
    />
  )
}

import { useTranslation } from 'react-i18next'
import type { Team } from '@/api/people/teams'
import { Dialog } from '@/ui/overlay/dialog'
import { TeamForm } from './team-form'

export function RenameTeam({ team, onClose }: { team: Team; onClose: () => void }) {
  const { t } = useTranslation()
  return (
    <Dialog isOpen onOpenChange={onClose} title={t('teams.rename_title', { name: team.name })}>
      <TeamForm team={team} onSaved={onClose} />
    </Dialog>
  )
}

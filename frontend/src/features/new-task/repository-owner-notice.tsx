import { useTranslation } from 'react-i18next'
import type { RepositoryOwner } from '@/api/people/teams'
import { Notice } from '@/ui/feedback/notice'

/** Explains what follows for the task if its repository belongs to a team. */
export function RepositoryOwnerNotice({ owner }: { owner: RepositoryOwner }) {
  const { t } = useTranslation()
  const name = owner.team_name
  if (!owner.is_member) {
    return (
      <Notice tone="warning" title={t('home.owner_refuses', { name })}>
        {t('home.owner_refuses_fix', { name })}
      </Notice>
    )
  }
  return (
    <Notice tone="neutral" title={t('home.owner', { name })}>
      {t('home.owner_level')}
      {owner.members_see !== 'none' && ` ${t(`home.owner_${owner.members_see}`)}`}
    </Notice>
  )
}

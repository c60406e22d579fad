import { useQuery } from '@tanstack/react-query'
import { Plus, Sparkles } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { profilesQuery, useActivateProfile, useDeleteProfile, useShareProfile } from '@/api/models/profiles'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import type { LLMProfile } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { DefaultSpendingLimits } from './default-spending-limits'
import { ModelDialog } from './model-dialog'
import { ModelRow } from './model-row'
import { SpendingCard } from './spending-card'
import { TrialDialog } from './trial-dialog'

export function ModelsSection() {
  const { t } = useTranslation()
  const query = useQuery(profilesQuery())
  const { data: user } = useQuery(currentUserQuery())
  const activate = useActivateProfile()
  const share = useShareProfile()
  const mayShare = user !== undefined && isAdministrator(user)
  const [edited, setEdited] = useState<LLMProfile | 'new' | null>(null)
  const [tried, setTried] = useState<string | null>(null)
  const [doomed, setDoomed] = useState<LLMProfile | null>(null)

  const addButton = (
    <Button variant="primary" icon={<Plus className="size-4" />} onClick={() => setEdited('new')}>
      {t('models.add')}
    </Button>
  )

  function handleActivate({ name }: LLMProfile) {
    activate.mutate(name, { onSuccess: () => toast.success(t('models.activated', { name })) })
  }

  function handleShare({ name, is_shared }: LLMProfile) {
    const message = is_shared ? 'models.shared_no_more' : 'models.now_shared'
    share.mutate({ name, isShared: !is_shared }, { onSuccess: () => toast.success(t(message, { name })) })
  }

  return (
    <section aria-label={t('models.title')}>
      <SectionHeader title={t('models.title')} lead={t('models.lead')} action={addButton} />
      {query.isPending && <SkeletonList rows={3} label={t('models.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState
          error={query.error}
          title={t('error.load_profiles')}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.data && (
        <Card>
          {query.data.profiles.length === 0 ? (
            <EmptyState icon={<Sparkles />} title={t('models.empty')}>
              {t('models.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.profiles.map((profile) => (
                <ModelRow
                  key={profile.name}
                  profile={profile}
                  isActive={profile.name === query.data.active_profile}
                  onActivate={() => handleActivate(profile)}
                  onEdit={() => setEdited(profile)}
                  onTest={() => setTried(profile.name)}
                  onShare={mayShare ? () => handleShare(profile) : undefined}
                  onDelete={() => setDoomed(profile)}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
      <SpendingCard />
      {mayShare && <DefaultSpendingLimits />}
      {edited && (
        <ModelDialog profile={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />
      )}
      {tried && <TrialDialog name={tried} onClose={() => setTried(null)} />}
      {doomed && <DeleteModelDialog profile={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function DeleteModelDialog({ profile, onClose }: { profile: LLMProfile; onClose: () => void }) {
  const { t } = useTranslation()
  const { name } = profile
  const remove = useDeleteProfile()
  function handleConfirm() {
    remove.mutate(name, {
      onSuccess: () => {
        toast.success(t('models.deleted', { name }))
        onClose()
      },
    })
  }
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('models.delete_title', { name })}
      description={t(profile.is_shared ? 'models.delete_shared_text' : 'models.delete_text')}
      confirmLabel={t('models.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={handleConfirm}
    />
  )
}

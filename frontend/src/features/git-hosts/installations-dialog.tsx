import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { type GitApp, installationsQuery, useUseInstallation } from '@/api/git/git-sign-in'
import { Button } from '@/ui/form/button'
import { Dialog } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'

/**
 * Lets an administrator choose an installation of the GitHub App. The agents of this administrator then act
 * in this installation.
 */
export function InstallationsDialog({ app, onClose }: { app: GitApp; onClose: () => void }) {
  const { t } = useTranslation()
  const query = useQuery(installationsQuery(app.id))
  const use = useUseInstallation(app.id)
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('git_apps.installations_title', { host: app.host })}
      description={t('git_apps.installations_text')}
    >
      {query.isPending && (
        <SkeletonList rows={1} label={t('git_apps.installations_loading')} className="h-12" />
      )}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data?.length === 0 && <p className="text-sm text-muted">{t('git_apps.installations_empty')}</p>}
      {use.isError && <ErrorState error={use.error} title={t('git_apps.use_failed')} className="mb-4" />}
      <ul className="divide-y divide-border">
        {query.data?.map(({ id, account, has_all_repositories }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
            <div className="min-w-0 flex-1 basis-40">
              <p className="truncate font-mono text-sm font-medium">{account}</p>
              <p className="text-sm text-muted">
                {t(has_all_repositories ? 'git_apps.all_repositories' : 'git_apps.some_repositories')}
              </p>
            </div>
            <Button
              size="sm"
              variant="primary"
              aria-label={t('git_apps.use_named', { account })}
              isBusy={use.isPending && use.variables === id}
              onClick={() => use.mutate(id, { onSuccess: onClose })}
            >
              {t('git_apps.use')}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { type GitApp, gitAppsQuery, useDeleteGitApp } from '@/api/git/git-sign-in'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { copyText } from '@/lib/browser/copy-text'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { GitAppForm } from './git-app-form'
import { InstallationsDialog } from './installations-dialog'

/** The applications with which users sign in to git hosts. Only administrators see this section. */
export function GitAppsSection() {
  const { data: me } = useQuery(currentUserQuery())
  return me && administersInstallation(me) ? <Apps /> : null
}

function Apps() {
  const { t } = useTranslation()
  const query = useQuery(gitAppsQuery())
  const [doomed, setDoomed] = useState<GitApp | null>(null)
  return (
    <section aria-label={t('git_apps.title')} className="mt-8">
      <SectionHeader title={t('git_apps.title')} lead={t('git_apps.lead')} />
      {query.isPending && <SkeletonList rows={2} label={t('git_apps.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <>
          <CallbackAddress url={query.data.callback_url} />
          <GitAppForm />
          {query.data.apps.length > 0 && (
            <Card>
              <ul className="divide-y divide-border">
                {query.data.apps.map((app) => (
                  <AppRow key={app.id} app={app} onDelete={() => setDoomed(app)} />
                ))}
              </ul>
            </Card>
          )}
        </>
      )}
      {doomed && <DeleteApp app={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function CallbackAddress({ url }: { url: string }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(url)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <Field label={t('git_apps.callback')} hint={t('git_apps.callback_hint')} className="mb-5">
      {(control) => (
        <div className="flex gap-2">
          <Input
            {...control}
            readOnly
            value={url}
            onFocus={(event) => event.target.select()}
            className="min-w-0 font-mono"
          />
          <Button
            icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
            onClick={() => void handleCopy()}
          >
            {t(isCopied ? 'action.copied' : 'git_apps.copy')}
          </Button>
        </div>
      )}
    </Field>
  )
}

function AppRow({ app, onDelete }: { app: GitApp; onDelete: () => void }) {
  const { t } = useTranslation()
  const [isChoosing, setChoosing] = useState(false)
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-40">
        <p className="truncate font-mono text-sm font-medium">{app.host}</p>
        <p className="truncate text-sm text-muted">
          {t('git_apps.registered', {
            kind: t(`git_hosts.providers.${app.provider}`),
            client_id: app.client_id,
          })}
        </p>
      </div>
      {app.has_private_key && (
        <Button
          size="sm"
          aria-label={t('git_apps.installations_named', { host: app.host })}
          onClick={() => setChoosing(true)}
        >
          {t('git_apps.installations')}
        </Button>
      )}
      <Button size="sm" aria-label={t('git_apps.delete_named', { host: app.host })} onClick={onDelete}>
        {t('action.delete')}
      </Button>
      {isChoosing && <InstallationsDialog app={app} onClose={() => setChoosing(false)} />}
    </li>
  )
}

function DeleteApp({ app, onClose }: { app: GitApp; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteGitApp()
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('git_apps.delete_title', { host: app.host })}
      description={t('git_apps.delete_text')}
      confirmLabel={t('git_apps.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(app.id, { onSuccess: onClose })}
    />
  )
}

import { useQuery } from '@tanstack/react-query'
import { CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import type { WebSession } from '@/api/types'
import { useEndWebSessions, webSessionsQuery } from '@/api/people/web-sessions'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { NameBrowserDialog } from './name-browser-dialog'
import { browserName } from './browser-name'

/** The browsers in which the user is signed in. */
export function WebSessionsSection() {
  const { t } = useTranslation()
  const query = useQuery(webSessionsQuery())
  const [isAsking, setIsAsking] = useState(false)
  const hasOthers = query.data?.some((session) => !session.is_current) ?? false
  const signOutOthers = hasOthers && (
    <Button onClick={() => setIsAsking(true)}>{t('browsers.sign_out_others')}</Button>
  )
  return (
    <section aria-label={t('browsers.title')}>
      <SectionHeader title={t('browsers.title')} lead={t('browsers.lead')} action={signOutOthers} />
      {query.isPending && <SkeletonList rows={2} label={t('browsers.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          <ul className="divide-y divide-border">
            {query.data.map((session) => (
              <WebSessionRow key={session.id} session={session} />
            ))}
          </ul>
        </Card>
      )}
      {isAsking && <SignOutOthersDialog onClose={() => setIsAsking(false)} />}
    </section>
  )
}

function WebSessionRow({ session }: { session: WebSession }) {
  const { t } = useTranslation()
  const end = useEndWebSessions()
  const [isNaming, setIsNaming] = useState(false)
  const program = browserName(session.user_agent) ?? t('browsers.unknown')
  const name = session.name ?? program
  const used = session.last_used_at
    ? t('browsers.last_used', { age: formatAge(session.last_used_at) })
    : t('browsers.not_used')
  function handleSignOut() {
    end.mutate({ id: session.id }, { onSuccess: () => toast.success(t('browsers.signed_out', { name })) })
  }
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-40">
        <p className="flex flex-wrap items-center gap-2 font-medium" title={session.user_agent ?? undefined}>
          <span className="min-w-0 break-words">{name}</span>
          {session.is_current && (
            <Badge tone="success" icon={<CircleCheck />}>
              {t('browsers.current')}
            </Badge>
          )}
        </p>
        <p className="text-xs text-muted">
          {[
            session.name && program,
            t('browsers.since', { date: formatDateTime(session.created_at) }),
            session.address,
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
        <p className="text-xs text-muted">
          {used} · {t('browsers.ends', { date: formatDateTime(session.expires_at) })}
        </p>
      </div>
      <Button size="sm" aria-label={t('browsers.rename_named', { name })} onClick={() => setIsNaming(true)}>
        {t('browsers.rename')}
      </Button>
      {isNaming && (
        <NameBrowserDialog session={session} shownName={name} onClose={() => setIsNaming(false)} />
      )}
      {!session.is_current && (
        <Button
          size="sm"
          aria-label={t('browsers.sign_out_named', { name })}
          disabled={end.isPending}
          onClick={handleSignOut}
        >
          {t('browsers.sign_out')}
        </Button>
      )}
    </li>
  )
}

function SignOutOthersDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const end = useEndWebSessions()
  function handleConfirm() {
    end.mutate('others', {
      onSuccess: () => {
        toast.success(t('browsers.others_signed_out'))
        onClose()
      },
    })
  }
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('browsers.others_title')}
      description={t('browsers.others_text')}
      confirmLabel={t('browsers.sign_out_others')}
      isBusy={end.isPending}
      onConfirm={handleConfirm}
    />
  )
}

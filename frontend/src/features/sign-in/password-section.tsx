import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { passwordSettingsQuery, type PasswordSettings } from '@/api/people/passwords'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { RemovePasswordDialog, SetPasswordDialog } from './password-dialogs'
import { AddTotpDialog, RemoveTotpDialog, RenewCodesDialog } from './totp-dialogs'

type Open = 'set' | 'remove' | 'add-totp' | 'renew-codes' | 'remove-totp' | null

/**
 * The user's password and authenticator app. Shows nothing if passwords are turned off and the user has none.
 */
export function PasswordSection() {
  const { t } = useTranslation()
  const query = useQuery(passwordSettingsQuery())
  const settings = query.data
  if (settings && !settings.is_offered && settings.login_name === null) return null
  return (
    <section aria-label={t('password.title')} className="mt-10">
      <SectionHeader
        title={t('password.title')}
        lead={t(settings?.is_offered === false ? 'password.turned_off' : 'password.lead')}
      />
      {query.isPending && <SkeletonList rows={2} label={t('password.loading')} className="h-16" />}
      {query.isError && !settings && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {settings && <Rows settings={settings} />}
    </section>
  )
}

function Rows({ settings }: { settings: PasswordSettings }) {
  const { t } = useTranslation()
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const { login_name: loginName, changed_at: changedAt, totp_since: since, is_offered: isOffered } = settings
  const hasPassword = loginName !== null && changedAt !== null
  return (
    <Card>
      <ul className="divide-y divide-border">
        <Row
          title={t('password.password')}
          state={
            hasPassword
              ? t('password.state', { loginName, date: formatDateTime(changedAt) })
              : t('password.none')
          }
        >
          {isOffered && (
            <Button
              size="sm"
              aria-label={hasPassword ? t('password.change') : undefined}
              onClick={() => setOpen('set')}
            >
              {t(hasPassword ? 'password.change_short' : 'password.set')}
            </Button>
          )}
          {hasPassword && (
            <Button size="sm" aria-label={t('password.remove')} onClick={() => setOpen('remove')}>
              {t('password.remove_short')}
            </Button>
          )}
        </Row>
        {(hasPassword || since !== null) && (
          <Row
            title={t('totp.title')}
            state={
              since === null
                ? t('totp.none')
                : t('totp.state', { date: formatDateTime(since), count: settings.recovery_codes_left })
            }
          >
            {since === null ? (
              <Button size="sm" onClick={() => setOpen('add-totp')}>
                {t('totp.add')}
              </Button>
            ) : (
              <>
                <Button size="sm" onClick={() => setOpen('renew-codes')}>
                  {t('totp.renew')}
                </Button>
                <Button size="sm" aria-label={t('totp.remove')} onClick={() => setOpen('remove-totp')}>
                  {t('password.remove_short')}
                </Button>
              </>
            )}
          </Row>
        )}
      </ul>
      {open === 'set' && <SetPasswordDialog settings={settings} onClose={close} />}
      {open === 'remove' && <RemovePasswordDialog onClose={close} />}
      {open === 'add-totp' && <AddTotpDialog onClose={close} />}
      {open === 'renew-codes' && <RenewCodesDialog onClose={close} />}
      {open === 'remove-totp' && <RemoveTotpDialog onClose={close} />}
    </Card>
  )
}

function Row({ title, state, children }: { title: string; state: string; children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-52">
        <p className="font-medium">{title}</p>
        <p className="text-xs break-words text-muted">{state}</p>
      </div>
      <div className="flex flex-wrap gap-2">{children}</div>
    </li>
  )
}

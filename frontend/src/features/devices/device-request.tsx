import { useTranslation } from 'react-i18next'
import type { Device } from '@/api/people/devices'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'

export interface DeviceRequestProps {
  device: Device
  code: string
  isBusy: boolean
  error: unknown
  onAnswer: (isAllowed: boolean) => void
}

/** The request of a terminal to sign in, with buttons to allow or refuse it. */
export function DeviceRequest({ device, code, isBusy, error, onAnswer }: DeviceRequestProps) {
  const { t } = useTranslation()
  const missing = device.missing_scopes
  const rows = [
    [t('device.name'), device.name],
    [t('device.address'), device.address ?? t('device.address_unknown')],
    [t('device.may'), device.scopes.map((scope) => t(`device.scope_${scope}`)).join(', ')],
    [t('device.key_ends'), t('device.days', { count: device.expires_in_days })],
    [t('device.asked'), formatDateTime(device.created_at)],
  ]
  return (
    <div className="flex flex-col gap-5">
      <p className="rounded-lg border border-border bg-sunken py-4 text-center font-mono text-2xl font-semibold tracking-widest uppercase">
        {code}
      </p>
      <p>{t('device.compare')}</p>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2 text-sm">
        {rows.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
      </dl>
      <Notice tone="warning">{t('device.warning')}</Notice>
      {missing.length > 0 && (
        <Notice tone="danger" title={t('device.missing')}>
          {missing.map((scope) => t(`device.scope_${scope}`)).join(', ')}
        </Notice>
      )}
      {Boolean(error) && <ErrorState error={error} title={t('device.not_answered')} />}
      <div className="flex flex-wrap gap-2">
        <Button
          variant="primary"
          isBusy={isBusy}
          disabled={missing.length > 0}
          onClick={() => onAnswer(true)}
        >
          {t('device.allow')}
        </Button>
        <Button disabled={isBusy} onClick={() => onAnswer(false)}>
          {t('device.refuse')}
        </Button>
      </div>
    </div>
  )
}

import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import {
  useSetAuditStream,
  type AuditStreamKind,
  type NewAuditStream,
  type SetAuditStream,
} from '@/api/people/audit-stream'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

const KINDS: AuditStreamKind[] = ['syslog_tls', 'syslog_tcp', 'syslog_udp', 'webhook']
const BEGINS = ['now', 'oldest'] as const satisfies SetAuditStream['begins'][]

/** The form that sets the receiver of the audit log. */
export function AuditStreamForm({ onSaved }: { onSaved: (saved: NewAuditStream) => void }) {
  const { t } = useTranslation()
  const save = useSetAuditStream()
  const [kind, setKind] = useState<AuditStreamKind>('syslog_tls')
  const [address, setAddress] = useState('')
  const [begins, setBegins] = useState<(typeof BEGINS)[number]>('now')
  const isWebhook = kind === 'webhook'

  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    save.mutate({ kind, address: address.trim(), begins }, { onSuccess: onSaved })
  }

  return (
    <form onSubmit={handleSubmit} noValidate className="flex flex-col gap-4">
      <div className="flex flex-wrap items-start gap-3">
        <Field label={t('audit_stream.kind')} className="min-w-44">
          {(ids) => (
            <Select
              {...ids}
              value={kind}
              onChange={(event) => setKind(event.target.value as AuditStreamKind)}
            >
              {KINDS.map((one) => (
                <option key={one} value={one}>
                  {t(`audit_stream.kind_${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label={t('audit_stream.address')}
          hint={kind === 'syslog_udp' ? t('audit_stream.udp_hint') : undefined}
          className="min-w-56 flex-1"
        >
          {(ids) => (
            <Input
              {...ids}
              value={address}
              placeholder={isWebhook ? 'https://siem.example.com/slipway' : 'syslog.example.com:6514'}
              onChange={(event) => setAddress(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('audit_stream.begins')} className="min-w-44">
          {(ids) => (
            <Select
              {...ids}
              value={begins}
              onChange={(event) => setBegins(event.target.value as (typeof BEGINS)[number])}
            >
              {BEGINS.map((one) => (
                <option key={one} value={one}>
                  {t(`audit_stream.begins_${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {save.isError && <ErrorState error={save.error} title={t('audit_stream.not_saved')} />}
      <Button
        type="submit"
        variant="primary"
        isBusy={save.isPending}
        disabled={address.trim() === ''}
        className="self-start"
      >
        {t('audit_stream.start')}
      </Button>
    </form>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { accountKeysQuery, useCreateAccountKey, useRevokeAccountKey } from '@/api/people/people'
import type { ApiKey, Permission, Person } from '@/api/types'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'

const SCOPES: Record<'all' | 'work' | 'read', Permission[] | undefined> = {
  all: undefined,
  work: ['read', 'work'],
  read: ['read'],
}
const LIFETIMES_DAYS = [30, 90, 365]

/** The keys of a service account, in a dialog. */
export function AccountKeys({ account }: { account: Person }) {
  const { t } = useTranslation()
  const [isOpen, setOpen] = useState(false)
  const title = t('service_accounts.keys_of', { name: account.name })
  return (
    <>
      <Button size="sm" aria-label={title} onClick={() => setOpen(true)}>
        {t('service_accounts.keys')}
      </Button>
      {isOpen && (
        <Dialog
          isOpen
          onOpenChange={() => setOpen(false)}
          title={title}
          description={t('service_accounts.lead')}
        >
          <Keys account={account} />
          <DialogActions>
            <Button onClick={() => setOpen(false)}>{t('action.done')}</Button>
          </DialogActions>
        </Dialog>
      )}
    </>
  )
}

function Keys({ account }: { account: Person }) {
  const { t } = useTranslation()
  const query = useQuery(accountKeysQuery(account.id))
  const revoke = useRevokeAccountKey(account.id)
  return (
    <div className="space-y-4">
      {query.isPending && <SkeletonList rows={1} label={t('api_keys.loading')} className="h-10" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data?.length === 0 && <p className="text-sm text-muted">{t('service_accounts.none')}</p>}
      {query.data && query.data.length > 0 && (
        <ul className="divide-y divide-border">
          {query.data.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              isBusy={revoke.isPending}
              onRevoke={() => revoke.mutate(key.id)}
            />
          ))}
        </ul>
      )}
      {!account.disabled_at && <NewKey account={account} />}
    </div>
  )
}

function KeyRow({ apiKey, isBusy, onRevoke }: { apiKey: ApiKey; isBusy: boolean; onRevoke: () => void }) {
  const { t } = useTranslation()
  const facts = [
    apiKey.scopes?.join(', '),
    apiKey.expires_at && t('api_keys.expires', { date: formatDateTime(apiKey.expires_at) }),
    apiKey.addresses && t('api_keys.only_from', { addresses: apiKey.addresses.join(', ') }),
    apiKey.last_used_at
      ? t('api_keys.last_used', { age: formatAge(apiKey.last_used_at) })
      : t('api_keys.never_used'),
  ]
  return (
    <li className="flex items-center gap-3 py-2">
      <div className="min-w-0 flex-1">
        <p className="truncate">
          {apiKey.name} <code className="text-xs text-muted">{apiKey.prefix}…</code>
        </p>
        <p className="text-xs text-muted">{facts.filter(Boolean).join(' · ')}</p>
      </div>
      <Button
        size="sm"
        aria-label={t('api_keys.revoke_named', { name: apiKey.name })}
        isBusy={isBusy}
        onClick={onRevoke}
      >
        {t('api_keys.revoke')}
      </Button>
    </li>
  )
}

function NewKey({ account }: { account: Person }) {
  const { t } = useTranslation()
  const create = useCreateAccountKey(account.id)
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<keyof typeof SCOPES>('work')
  const [lifetime, setLifetime] = useState('90')
  const [addresses, setAddresses] = useState('')

  function handleCreate() {
    const chosen = SCOPES[scopes]
    const allowed = addresses.split(/[\s,]+/).filter(Boolean)
    create.mutate(
      {
        name: name.trim(),
        ...(chosen && { scopes: chosen }),
        ...(lifetime && { expires_in_days: Number(lifetime) }),
        ...(allowed.length > 0 && { addresses: allowed }),
      },
      { onSuccess: () => setName('') },
    )
  }

  return (
    <div className="space-y-3 border-t border-border pt-4">
      <Field label={t('api_keys.name')}>
        {(control) => (
          <Input
            {...control}
            value={name}
            autoComplete="off"
            placeholder={t('api_keys.name_placeholder')}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-3">
        <Field label={t('api_keys.scopes')} className="min-w-36 flex-1">
          {(control) => (
            <Select
              {...control}
              value={scopes}
              onChange={(event) => setScopes(event.target.value as keyof typeof SCOPES)}
            >
              {(Object.keys(SCOPES) as (keyof typeof SCOPES)[]).map((each) => (
                <option key={each} value={each}>
                  {t(`api_keys.scopes_${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t('api_keys.lifetime')} className="min-w-36 flex-1">
          {(control) => (
            <Select {...control} value={lifetime} onChange={(event) => setLifetime(event.target.value)}>
              <option value="">{t('api_keys.never_expires')}</option>
              {LIFETIMES_DAYS.map((count) => (
                <option key={count} value={count}>
                  {t('api_keys.expires_in_days', { count })}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <Field label={t('api_keys.addresses')} hint={t('api_keys.addresses_hint')}>
        {(control) => (
          <Input {...control} value={addresses} onChange={(event) => setAddresses(event.target.value)} />
        )}
      </Field>
      <Button disabled={name.trim() === ''} isBusy={create.isPending} onClick={handleCreate}>
        {t('service_accounts.create')}
      </Button>
      {create.isError && <ErrorState error={create.error} title={t('api_keys.create_failed')} />}
      {create.data && (
        <Field label={t('service_accounts.new_key')}>
          {(control) => (
            <Input
              {...control}
              readOnly
              value={create.data.key}
              className="font-mono"
              onFocus={(event) => event.target.select()}
            />
          )}
        </Field>
      )}
    </div>
  )
}

import { useQuery } from '@tanstack/react-query'
import { UserPlus, X } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  GIVEN_ACCESS,
  candidatesQuery,
  sharingQuery,
  useChangeSharing,
  type GivenAccess,
  type Sharing,
} from '@/api/sharing'
import { Links } from './links'
import { useDebounced } from '@/lib/use-debounced'
import { Button } from '@/ui/button'
import { Dialog, DialogActions } from '@/ui/dialog'
import { ErrorState } from '@/ui/error-state'
import { Field } from '@/ui/field'
import { IconButton } from '@/ui/icon-button'
import { Input } from '@/ui/input'
import { Notice } from '@/ui/notice'
import { Select } from '@/ui/select'
import { SkeletonList } from '@/ui/skeleton'

const SEARCH_DELAY_MS = 200

export interface ShareDialogProps {
  conversationId: string
  onClose: () => void
}

/** Who else may view or steer a conversation. Each change holds at once. */
export function ShareDialog({ conversationId, onClose }: ShareDialogProps) {
  const { t } = useTranslation()
  const query = useQuery(sharingQuery(conversationId))
  const change = useChangeSharing(conversationId)
  return (
    <Dialog isOpen onOpenChange={onClose} title={t('sharing.title')} description={t('sharing.lead')}>
      {query.isPending && <SkeletonList rows={3} label={t('sharing.loading')} className="h-10" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <div className="space-y-5">
          <Everyone
            everyone={query.data.everyone}
            onChange={(access) => change.mutate({ userId: null, access })}
          />
          <People
            conversationId={conversationId}
            people={query.data.people}
            onChange={(userId, access) => change.mutate({ userId, access })}
          />
          {change.isError && <ErrorState error={change.error} />}
          <Notice tone="warning">{t('sharing.costs')}</Notice>
          <Links conversationId={conversationId} />
        </div>
      )}
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          {t('sharing.done')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

interface EveryoneProps {
  everyone: Sharing['everyone']
  onChange: (access: GivenAccess | null) => void
}

function Everyone({ everyone, onChange }: EveryoneProps) {
  const { t } = useTranslation()
  return (
    <Field label={t('sharing.everyone')}>
      {(control) => (
        <Select
          {...control}
          value={everyone ?? ''}
          onChange={(event) => onChange((event.target.value || null) as GivenAccess | null)}
        >
          <option value="">{t('sharing.nothing')}</option>
          <AccessOptions />
        </Select>
      )}
    </Field>
  )
}

interface PeopleProps {
  conversationId: string
  people: Sharing['people']
  onChange: (userId: string, access: GivenAccess | null) => void
}

function People({ conversationId, people, onChange }: PeopleProps) {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const applied = useDebounced(text.trim(), SEARCH_DELAY_MS)
  const { data } = useQuery(candidatesQuery(conversationId, applied))
  const found = applied === '' ? [] : (data ?? [])
  const known = new Set(people.map((person) => person.user_id))
  const others = found.filter((person) => !known.has(person.user_id))
  return (
    <div className="space-y-2">
      <Field label={t('sharing.find')}>
        {(control) => (
          <Input
            {...control}
            value={text}
            autoComplete="off"
            placeholder={t('sharing.find_placeholder')}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      {applied !== '' && data && others.length === 0 && (
        <p role="status" className="text-sm text-muted">
          {t('sharing.none_found')}
        </p>
      )}
      {others.length > 0 && (
        <ul aria-label={t('sharing.found')} className="max-h-48 overflow-y-auto">
          {others.map((person) => (
            <li key={person.user_id}>
              <Button
                variant="ghost"
                size="sm"
                icon={<UserPlus aria-hidden className="size-4" />}
                onClick={() => {
                  onChange(person.user_id, 'view')
                  setText('')
                }}
              >
                {t('sharing.add', { name: person.name })}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {people.length > 0 && (
        <ul aria-label={t('sharing.people')} className="divide-y divide-border">
          {people.map((person) => (
            <li key={person.user_id} className="flex items-center gap-2 py-2">
              <span className="min-w-0 flex-1 truncate">{person.name}</span>
              <Select
                className="w-32 shrink-0"
                aria-label={t('sharing.access_of', { name: person.name })}
                value={person.access}
                onChange={(event) => onChange(person.user_id, event.target.value as GivenAccess)}
              >
                <AccessOptions />
              </Select>
              <IconButton
                size="sm"
                label={t('sharing.remove', { name: person.name })}
                hasTooltip={false}
                icon={<X aria-hidden className="size-4" />}
                onClick={() => onChange(person.user_id, null)}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function AccessOptions() {
  const { t } = useTranslation()
  return GIVEN_ACCESS.map((access) => (
    <option key={access} value={access}>
      {t(`sharing.${access}`)}
    </option>
  ))
}

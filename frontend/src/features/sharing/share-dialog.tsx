import { useQuery } from '@tanstack/react-query'
import { UserPlus, Users, X } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  ACCESS_LEVELS,
  candidatesQuery,
  sharingQuery,
  useChangeSharing,
  type Candidate,
  type AccessLevel,
  type SharedWith,
  type Sharing,
} from '@/api/conversations/sharing'
import { Links } from './links'
import { useDebounced } from '@/lib/hooks/use-debounced'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { IconButton } from '@/ui/form/icon-button'
import { Input } from '@/ui/form/input'
import { Notice } from '@/ui/feedback/notice'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'

const SEARCH_DELAY_MS = 200

export interface ShareDialogProps {
  conversationId: string
  onClose: () => void
}

/** The people and teams that may view or steer a conversation. Each change applies at once. */
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
            onChange={(access) => change.mutate({ who: 'everyone', access })}
          />
          <PeopleAndTeams
            conversationId={conversationId}
            sharing={query.data}
            onChange={(who, access) => change.mutate({ who, access })}
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
  onChange: (access: AccessLevel | null) => void
}

function Everyone({ everyone, onChange }: EveryoneProps) {
  const { t } = useTranslation()
  return (
    <Field label={t('sharing.everyone')}>
      {(control) => (
        <Select
          {...control}
          value={everyone ?? ''}
          onChange={(event) => onChange((event.target.value || null) as AccessLevel | null)}
        >
          <option value="">{t('sharing.nothing')}</option>
          <AccessOptions />
        </Select>
      )}
    </Field>
  )
}

interface PeopleAndTeamsProps {
  conversationId: string
  sharing: Sharing
  onChange: (who: SharedWith, access: AccessLevel | null) => void
}

function PeopleAndTeams({ conversationId, sharing, onChange }: PeopleAndTeamsProps) {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const applied = useDebounced(text.trim(), SEARCH_DELAY_MS)
  const { data } = useQuery(candidatesQuery(conversationId, applied))
  const { people, teams } = sharing
  const known = new Set([...people.map(({ user_id }) => user_id), ...teams.map(({ team_id }) => team_id)])
  const others = (applied === '' ? [] : (data ?? [])).filter((one) => !known.has(idOf(one)))
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
          {others.map((one) => (
            <li key={idOf(one)} className="flex items-center gap-2">
              {/* Long names of teams are wrapped, because two names may differ only at the end. */}
              <Button
                variant="ghost"
                size="sm"
                className="h-auto! min-h-8 min-w-0 shrink! py-1 text-left whitespace-normal!"
                icon={<CandidateIcon candidate={one} />}
                onClick={() => {
                  onChange(one.team_id ? { teamId: one.team_id } : { userId: idOf(one) }, 'view')
                  setText('')
                }}
              >
                <span className="min-w-0 break-words">{t('sharing.add', { name: one.name })}</span>
              </Button>
              {one.team_id && <Badge>{t('sharing.team')}</Badge>}
              {one.is_service && <Badge>{t('service_accounts.badge')}</Badge>}
            </li>
          ))}
        </ul>
      )}
      {known.size > 0 && (
        <ul aria-label={t('sharing.people')} className="divide-y divide-border">
          {teams.map((team) => (
            <SharedRow
              key={team.team_id}
              name={team.name}
              note={t('sharing.team_members', { count: team.member_count })}
              access={team.access}
              onChange={(access) => onChange({ teamId: team.team_id }, access)}
            />
          ))}
          {people.map((person) => (
            <SharedRow
              key={person.user_id}
              name={person.name}
              access={person.access}
              onChange={(access) => onChange({ userId: person.user_id }, access)}
            />
          ))}
        </ul>
      )}
    </div>
  )
}

function idOf({ team_id, user_id }: Candidate): string {
  return team_id ?? user_id ?? ''
}

function CandidateIcon({ candidate }: { candidate: Candidate }) {
  const Icon = candidate.team_id ? Users : UserPlus
  return <Icon aria-hidden className="size-4 shrink-0" />
}

interface SharedRowProps {
  name: string
  /** The number of people in a team. It is left out for a person. */
  note?: string
  access: AccessLevel
  onChange: (access: AccessLevel | null) => void
}

function SharedRow({ name, note, access, onChange }: SharedRowProps) {
  const { t } = useTranslation()
  return (
    <li className="flex items-center gap-2 py-2">
      <div className="min-w-0 flex-1">
        <p className="break-words">{name}</p>
        {note && (
          <p className="text-xs text-muted">
            {t('sharing.team')} · {note}
          </p>
        )}
      </div>
      <Select
        className="w-32 shrink-0"
        aria-label={t('sharing.access_of', { name })}
        value={access}
        onChange={(event) => onChange(event.target.value as AccessLevel)}
      >
        <AccessOptions />
      </Select>
      <IconButton
        size="sm"
        label={t('sharing.remove', { name })}
        hasTooltip={false}
        icon={<X aria-hidden className="size-4" />}
        onClick={() => onChange(null)}
      />
    </li>
  )
}

function AccessOptions() {
  const { t } = useTranslation()
  return ACCESS_LEVELS.map((access) => (
    <option key={access} value={access}>
      {t(`sharing.${access}`)}
    </option>
  ))
}

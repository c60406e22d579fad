import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  belongingsQuery,
  useDeletePerson,
  useExportPerson,
  type Belongings,
  type BelongingsDecision,
} from '@/api/people/person-deletion'
import { peopleQuery } from '@/api/people/people'
import type { Person } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'

const HANDED_OVER = ['conversations', 'profiles', 'callbacks', 'triggers'] as const
const LOST = ['secrets', 'git_credentials', 'mcp_servers', 'notes', 'sandbox_specs', 'api_keys'] as const
type Kind = (typeof HANDED_OVER)[number]
type Decisions = Record<Kind, BelongingsDecision | ''>

const UNDECIDED: Decisions = { conversations: '', profiles: '', callbacks: '', triggers: '' }

/**
 * Deletes a person. First, an administrator decides whether the person's belongings are handed over or
 * deleted.
 */
export function DeletePerson({ person, onClose }: { person: Person; onClose: () => void }) {
  const { t } = useTranslation()
  const query = useQuery(belongingsQuery(person.id))
  const download = useExportPerson(person)
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('departures.title', { name: person.name })}
      description={t('departures.lead')}
    >
      <Button
        size="sm"
        className="mb-4"
        icon={<Download aria-hidden className="size-4" />}
        isBusy={download.isPending}
        onClick={() => download.mutate()}
      >
        {t('departures.export_first')}
      </Button>
      {query.isPending && <SkeletonList rows={3} label={t('departures.loading')} className="h-10" />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && <Choices person={person} belongings={query.data} onClose={onClose} />}
    </Dialog>
  )
}

interface ChoicesProps {
  person: Person
  belongings: Belongings
  onClose: () => void
}

function Choices({ person, belongings, onClose }: ChoicesProps) {
  const { t } = useTranslation()
  const others = (useQuery(peopleQuery()).data ?? []).filter(
    (one) => one.id !== person.id && one.disabled_at === null,
  )
  const remove = useDeletePerson(person.id)
  const [chosen, setChosen] = useState<Decisions>(UNDECIDED)
  const [heir, setHeir] = useState('')
  // Only kinds of belongings that the person has need a decision.
  const asked = HANDED_OVER.filter((kind) => belongings[kind] > 0)
  const decisionOf = (kind: Kind): BelongingsDecision | '' => (belongings[kind] > 0 ? chosen[kind] : 'delete')
  const needsHeir = asked.some((kind) => chosen[kind] === 'hand_over')
  const isComplete = asked.every((kind) => chosen[kind] !== '') && (!needsHeir || heir !== '')
  const lost = LOST.filter((kind) => belongings[kind] > 0)

  function handleDelete() {
    const decisions = Object.fromEntries(HANDED_OVER.map((kind) => [kind, decisionOf(kind) || 'delete']))
    remove.mutate(
      { ...(decisions as Record<Kind, BelongingsDecision>), heir_id: needsHeir ? heir : null },
      {
        onSuccess: () => {
          toast.success(t('departures.begun', { name: person.name }))
          onClose()
        },
      },
    )
  }

  return (
    <div className="space-y-4">
      {asked.map((kind) => (
        <Field key={kind} label={t(`departures.${kind}`, { count: belongings[kind] })}>
          {(control) => (
            <Select
              {...control}
              value={chosen[kind]}
              onChange={(event) => setChosen({ ...chosen, [kind]: event.target.value as BelongingsDecision })}
            >
              <option value="" disabled>
                {t('departures.choose')}
              </option>
              <option value="hand_over">{t('departures.hand_over')}</option>
              <option value="delete">{t('departures.delete')}</option>
            </Select>
          )}
        </Field>
      ))}
      {needsHeir && (
        <Field label={t('departures.heir')}>
          {(control) => (
            <Select {...control} value={heir} onChange={(event) => setHeir(event.target.value)}>
              <option value="" disabled>
                {t('departures.choose')}
              </option>
              {others.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      <p className="text-sm text-muted">
        {lost.length === 0
          ? t('departures.nothing_else')
          : t('departures.lost', {
              what: lost.map((kind) => t(`departures.${kind}`, { count: belongings[kind] })).join(', '),
            })}
      </p>
      {remove.isError && <ErrorState error={remove.error} />}
      <DialogActions>
        <Button variant="danger" disabled={!isComplete} isBusy={remove.isPending} onClick={handleDelete}>
          {t('departures.confirm')}
        </Button>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
      </DialogActions>
    </div>
  )
}

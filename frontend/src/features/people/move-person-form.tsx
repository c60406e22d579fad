import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type Organisation, useMovePerson } from '@/api/people/organisations'
import { peopleQuery } from '@/api/people/people'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'

/** Moves a person from the user's organisation to another one, as a member. */
export function MovePersonForm({ organisations }: { organisations: Organisation[] }) {
  const { t } = useTranslation()
  const people = useQuery(peopleQuery()).data?.filter(({ role }) => role !== 'owner') ?? []
  const others = organisations.filter((one) => !one.is_default)
  const move = useMovePerson()
  const [personId, setPersonId] = useState('')
  const [organisationId, setOrganisationId] = useState('')
  const [isAsking, setAsking] = useState(false)
  const person = people.find(({ id }) => id === personId)
  const to = others.find(({ id }) => id === organisationId)
  if (people.length === 0) return null
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Field label={t('organisations.person')} className="min-w-44">
        {(ids) => (
          <Select {...ids} value={personId} onChange={(event) => setPersonId(event.target.value)}>
            <option value="">{t('organisations.choose')}</option>
            {people.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t('organisations.to')} className="min-w-44">
        {(ids) => (
          <Select {...ids} value={organisationId} onChange={(event) => setOrganisationId(event.target.value)}>
            <option value="">{t('organisations.choose')}</option>
            {others.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Button disabled={!person || !to} onClick={() => setAsking(true)}>
        {t('organisations.move')}
      </Button>
      {person && to && (
        <ConfirmDialog
          isOpen={isAsking}
          onOpenChange={setAsking}
          title={t('organisations.move_title', { person: person.name, organisation: to.name })}
          description={t('organisations.move_text')}
          confirmLabel={t('organisations.move')}
          isBusy={move.isPending}
          onConfirm={() =>
            move.mutate(
              { personId: person.id, to: to.id, role: 'member' },
              {
                onSuccess: () => {
                  setAsking(false)
                  setPersonId('')
                },
              },
            )
          }
        />
      )}
    </div>
  )
}

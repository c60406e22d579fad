import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useExportPerson } from '@/api/people/person-deletion'
import {
  type AssignableRole,
  useChangePerson,
  useCreateSignInLink,
  useSendInvitationAgain,
} from '@/api/people/people'
import type { Person, SignInLink, User } from '@/api/types'
import { formatAge } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Select } from '@/ui/form/select'
import { AccountKeys } from './account-keys'
import { DeletePerson } from './delete-person'
import { InvitationMailState } from './invitation-mail-state'
import { isAssignableRole, assignableRoles } from './assignable-roles'
import { ResetTotp } from './reset-totp'

export interface PersonRowProps {
  person: Person
  me: User
  onLink: (link: SignInLink) => void
}

export function PersonRow({ person, me, onLink }: PersonRowProps) {
  const { t } = useTranslation()
  const canManage = isAssignableRole(person.role) && assignableRoles(me).includes(person.role)
  const use = person.signed_in_at
    ? t('people.signed_in', { age: formatAge(person.signed_in_at) })
    : t('people.never_signed_in')
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex items-center gap-2 font-medium">
          <span className="truncate">{person.name}</span>
          {person.id === me.id && <Badge>{t('people.you')}</Badge>}
          {person.is_service && <Badge>{t('service_accounts.badge')}</Badge>}
          {person.disabled_at && (
            <Badge>{t(person.deleting_at ? 'departures.deleting' : 'people.disabled')}</Badge>
          )}
        </p>
        <p className="text-xs text-muted">
          {t(`people.role_${person.role}`)}
          {!person.is_service && ` · ${use}`}
        </p>
        {person.invitation_mail && <InvitationMailState mail={person.invitation_mail} />}
      </div>
      {canManage && !person.deleting_at && <Controls person={person} me={me} onLink={onLink} />}
    </li>
  )
}

function Controls({ person, me, onLink }: PersonRowProps) {
  const { t } = useTranslation()
  const { id, name } = person
  const change = useChangePerson()
  const link = useCreateSignInLink()
  const again = useSendInvitationAgain()
  const download = useExportPerson(person)
  const [isDeleting, setDeleting] = useState(false)
  const isDisabled = person.disabled_at !== null
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Select
        aria-label={t('people.role_of', { name })}
        value={person.role}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ id, role: event.target.value as AssignableRole })}
      >
        {assignableRoles(me).map((role) => (
          <option key={role} value={role}>
            {t(`people.role_${role}`)}
          </option>
        ))}
      </Select>
      {person.is_service && <AccountKeys account={person} />}
      {!isDisabled && !person.is_service && (
        <Button
          size="sm"
          aria-label={t('people.new_link_for', { name })}
          isBusy={link.isPending}
          onClick={() => link.mutate(id, { onSuccess: onLink })}
        >
          {t('people.new_link')}
        </Button>
      )}
      {!isDisabled && person.invitation_mail && (
        <Button
          size="sm"
          aria-label={t('people.send_again_to', { name })}
          isBusy={again.isPending}
          onClick={() => again.mutate(id)}
        >
          {t('people.send_again')}
        </Button>
      )}
      {person.has_totp && <ResetTotp person={person} />}
      <Button
        size="sm"
        aria-label={t('departures.export_named', { name })}
        isBusy={download.isPending}
        onClick={() => download.mutate()}
      >
        {t('departures.export')}
      </Button>
      <Button
        size="sm"
        aria-label={t(isDisabled ? 'people.enable_named' : 'people.disable_named', { name })}
        isBusy={change.isPending}
        onClick={() => change.mutate({ id, is_disabled: !isDisabled })}
      >
        {t(isDisabled ? 'people.enable' : 'people.disable')}
      </Button>
      {isDisabled && (
        <Button
          size="sm"
          aria-label={t('departures.remove_named', { name })}
          onClick={() => setDeleting(true)}
        >
          {t('departures.remove')}
        </Button>
      )}
      {isDeleting && <DeletePerson person={person} onClose={() => setDeleting(false)} />}
    </div>
  )
}

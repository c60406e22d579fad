import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import type { Person } from '@/api/types'
import { formatDateTime } from '@/lib/text/time'

export interface InvitationMailStateProps {
  mail: NonNullable<Person['invitation_mail']>
}

/** Says whether the invitation of a person has reached the mail server. If not, says why. */
export function InvitationMailState({ mail }: InvitationMailStateProps) {
  const { t } = useTranslation()
  const { address, state, error, link_expires_at: end } = mail
  return (
    <p className={clsx('text-xs break-words', state === 'failed' ? 'text-danger' : 'text-muted')}>
      {state === 'sent' && t('people.mail_sent', { address, date: end === null ? '' : formatDateTime(end) })}
      {state === 'waiting' && t(error ? 'people.mail_delayed' : 'people.mail_waiting', { address, error })}
      {state === 'failed' && t('people.mail_failed', { address, error })}
    </p>
  )
}

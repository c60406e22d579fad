import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { peopleQuery } from '@/api/people/people'
import type { SignInLink, User } from '@/api/types'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import { Card } from '@/ui/layout/card'
import { CopyDialog } from '@/ui/overlay/copy-dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { InviteForm } from './invite-form'
import { PersonRow } from './person-row'

/** The people who can sign in, with their roles. */
export function PeopleSection() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  return (
    <section aria-label={t('people.title')}>
      <SectionHeader title={t('people.title')} lead={t('people.lead')} />
      {me && !isAdministrator(me) && <Notice tone="neutral">{t('people.administrators_only')}</Notice>}
      {me && isAdministrator(me) && <People me={me} />}
    </section>
  )
}

interface NamedLink {
  name: string
  link: SignInLink
}

function People({ me }: { me: User }) {
  const { t } = useTranslation()
  const query = useQuery(peopleQuery())
  const [shown, setShown] = useState<NamedLink | null>(null)
  return (
    <>
      <InviteForm me={me} onInvited={(name, link) => setShown({ name, link })} />
      {query.isPending && <SkeletonList rows={2} label={t('people.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          <ul className="divide-y divide-border">
            {query.data.map((person) => (
              <PersonRow
                key={person.id}
                person={person}
                me={me}
                onLink={(link) => setShown({ name: person.name, link })}
              />
            ))}
          </ul>
        </Card>
      )}
      {shown && (
        <CopyDialog
          title={t('people.link_title', { name: shown.name })}
          description={t('people.link_text')}
          value={shown.link.url}
          label={t('people.link')}
          copyLabel={t('people.copy_link')}
          onClose={() => setShown(null)}
        />
      )}
    </>
  )
}

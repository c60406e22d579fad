import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type Organisation, organisationsQuery, useDeleteOrganisation } from '@/api/people/organisations'
import { currentUserQuery, ownsInstallation } from '@/api/people/users'
import type { SignInLink } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { CopyDialog } from '@/ui/overlay/copy-dialog'
import { MovePersonForm } from './move-person-form'
import { OrganisationForm } from './organisation-form'

/**
 * The organisations, for the owner of the installation. The section is closed if there is only one, as in
 * most installations.
 */
export function OrganisationsSection() {
  const me = useQuery(currentUserQuery()).data
  const query = useQuery({ ...organisationsQuery(), enabled: me !== undefined && ownsInstallation(me) })
  if (query.isError && !query.data) {
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  return query.data ? <Organisations organisations={query.data} /> : null
}

interface NamedLink {
  name: string
  link: SignInLink
}

function Organisations({ organisations }: { organisations: Organisation[] }) {
  const { t } = useTranslation()
  const [made, setMade] = useState<NamedLink | null>(null)
  const [doomed, setDoomed] = useState<Organisation | null>(null)
  const remove = useDeleteOrganisation()
  const hasSeveral = organisations.length > 1
  return (
    <details className="mt-10" open={hasSeveral}>
      <summary className="cursor-pointer text-sm font-medium">{t('organisations.title')}</summary>
      <p className="my-3 text-sm text-muted">{t('organisations.lead')}</p>
      {hasSeveral && (
        <Card className="mb-5">
          <ul className="divide-y divide-border">
            {organisations.map((one) => (
              <li key={one.id} className="flex items-center gap-3 px-4 py-3">
                <p className="min-w-0 flex-1 truncate font-medium">{one.name}</p>
                {one.is_default && <Badge>{t('organisations.default')}</Badge>}
                <span className="text-xs text-muted">
                  {t('organisations.people', { count: one.person_count })}
                </span>
                {!one.is_default && one.person_count === 0 && (
                  <Button
                    aria-label={t('organisations.delete_one', { name: one.name })}
                    onClick={() => setDoomed(one)}
                  >
                    {t('organisations.delete')}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </Card>
      )}
      <OrganisationForm onCreated={(name, link) => setMade({ name, link })} />
      {hasSeveral && <MovePersonForm organisations={organisations} />}
      {made && (
        <CopyDialog
          title={t('people.link_title', { name: made.name })}
          description={t('people.link_text')}
          value={made.link.url}
          label={t('people.link')}
          copyLabel={t('people.copy_link')}
          onClose={() => setMade(null)}
        />
      )}
      <ConfirmDialog
        isOpen={doomed !== null}
        onOpenChange={(isOpen) => !isOpen && setDoomed(null)}
        title={t('organisations.delete_title', { name: doomed?.name })}
        description={t('organisations.delete_text')}
        confirmLabel={t('organisations.delete')}
        isBusy={remove.isPending}
        onConfirm={() => doomed && remove.mutate(doomed.id, { onSuccess: () => setDoomed(null) })}
      />
    </details>
  )
}

import { Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type NetworkSettings,
  type RepositoryNetwork,
  useForgetRepositoryNetwork,
  useSetRepositoryNetwork,
} from '@/api/sandboxes/network'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { RepositoryField } from '@/ui/form/repository-field'
import { NetworkForm } from './network-form'

/**
 * The settings for the tasks of one repository. Its mode replaces the general mode, and its hosts are added
 * to the general hosts.
 */
export function Repositories({ settings }: { settings: NetworkSettings }) {
  const { t } = useTranslation()
  return (
    <section aria-label={t('network.repositories')}>
      <h3 className="mb-1 font-medium">{t('network.repositories')}</h3>
      <p className="mb-3 text-sm text-muted">{t('network.repositories_hint')}</p>
      <Card>
        <ul className="divide-y divide-border">
          {settings.repositories.map((setting) => (
            <Repository key={`${setting.repository} ${setting.hosts.join()}`} setting={setting} />
          ))}
          <li className="px-4 py-3">
            <AddRepository />
          </li>
        </ul>
      </Card>
    </section>
  )
}

function Repository({ setting }: { setting: RepositoryNetwork }) {
  const { t } = useTranslation()
  const { repository, mode, hosts } = setting
  const set = useSetRepositoryNetwork()
  const forget = useForgetRepositoryNetwork()
  const summary = mode ? t(`network.mode.${mode}`) : t('network.inherited')
  return (
    <li className="px-4 py-3">
      <details>
        <summary className="cursor-pointer">
          <span className="font-mono text-sm font-medium wrap-anywhere">{repository}</span>
          <span className="block text-sm text-muted">
            {summary} · {t('network.hosts_count', { count: hosts.length })}
          </span>
        </summary>
        <div className="mt-4">
          <NetworkForm
            label={repository}
            setting={setting}
            defaultMode={null}
            save={{
              mutate: (given, options) => set.mutate({ repository, ...given }, options),
              isPending: set.isPending,
              error: set.error,
            }}
          />
          <Button
            size="sm"
            className="mt-4"
            icon={<Trash2 aria-hidden className="size-3.5" />}
            isBusy={forget.isPending}
            onClick={() => forget.mutate(repository)}
          >
            {t('network.forget')}
          </Button>
        </div>
      </details>
    </li>
  )
}

function AddRepository() {
  const { t } = useTranslation()
  const set = useSetRepositoryNetwork()
  const [repository, setRepository] = useState('')
  return (
    <form
      className="flex flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate(
          { repository: repository.trim(), mode: null, hosts: [] },
          { onSuccess: () => setRepository('') },
        )
      }}
    >
      <RepositoryField
        label={t('network.repository')}
        className="flex-1 basis-52"
        value={repository}
        onChange={(event) => setRepository(event.target.value)}
      />
      <Button
        type="submit"
        icon={<Plus aria-hidden className="size-4" />}
        isBusy={set.isPending}
        disabled={repository.trim() === ''}
      >
        {t('network.add')}
      </Button>
      {set.error && <ErrorState error={set.error} title={t('network.save_failed')} className="basis-full" />}
    </form>
  )
}

import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type SandboxSpec,
  type SandboxSpecSettings,
  SERVER_SPEC_ID,
  useChooseSandboxSpec,
} from '@/api/sandboxes/sandbox-specs'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Notice } from '@/ui/feedback/notice'
import { IconButton } from '@/ui/form/icon-button'
import { RepositoryField } from '@/ui/form/repository-field'
import { Select } from '@/ui/form/select'

export interface DefaultImagesProps {
  specs: SandboxSpec[]
  settings: SandboxSpecSettings
}

/** The default image of new sandboxes for all repositories, and the repositories that have another image. */
export function DefaultImages({ specs, settings }: DefaultImagesProps) {
  const { t } = useTranslation()
  const choose = useChooseSandboxSpec()
  const [repository, setRepository] = useState('')
  const label = (spec: SandboxSpec) => {
    if (spec.level === null) return t('images.servers_own')
    if (spec.level === 'user') return spec.name
    return t('images.given', {
      name: spec.name,
      whose: t(`organisation.by_${spec.level}`, { team: spec.team_name }),
    })
  }
  const nameOf = (id: string) => {
    const found = specs.find((spec) => spec.id === id)
    return found ? label(found) : id
  }
  const options = specs.map((spec) => (
    <option key={spec.id} value={spec.id}>
      {label(spec)}
    </option>
  ))
  const first = specs.find((spec) => spec.id !== SERVER_SPEC_ID)
  const { enforced_by: enforcedBy, team_name: team } = settings
  return (
    <Card className="flex flex-col gap-4 p-4">
      <Field label={t('images.for_all')} hint={t('images.for_all_hint')}>
        {(control) => (
          <Select
            {...control}
            value={settings.sandbox_spec_id}
            disabled={settings.enforced_by !== null}
            onChange={(event) => choose.mutate({ repository: null, sandbox_spec_id: event.target.value })}
          >
            {options}
          </Select>
        )}
      </Field>
      {enforcedBy && (
        <Notice tone="neutral">
          {t('images.enforced_by', { whose: t(`organisation.by_${enforcedBy}`, { team }) })}
        </Notice>
      )}
      {settings.repositories.length > 0 && (
        <ul aria-label={t('images.by_repository')} className="divide-y divide-border border-y border-border">
          {settings.repositories.map((each) => (
            <li key={each.repository} className="flex items-center gap-3 py-2 text-sm">
              <span className="min-w-0 flex-1 font-mono wrap-anywhere">{each.repository}</span>
              <span className="text-muted">{nameOf(each.sandbox_spec_id)}</span>
              <IconButton
                label={t('images.forget', { repository: each.repository })}
                icon={<X aria-hidden className="size-4" />}
                onClick={() => choose.mutate({ repository: each.repository, sandbox_spec_id: null })}
              />
            </li>
          ))}
        </ul>
      )}
      {first && !enforcedBy && (
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            const spec = new FormData(event.currentTarget).get('spec')
            choose.mutate(
              { repository: repository.trim(), sandbox_spec_id: String(spec) },
              { onSuccess: () => setRepository('') },
            )
          }}
        >
          <RepositoryField
            label={t('images.repository')}
            className="flex-1 basis-44"
            value={repository}
            onChange={(event) => setRepository(event.target.value)}
          />
          <Field label={t('images.image')} className="flex-1 basis-36">
            {(control) => (
              <Select {...control} name="spec" defaultValue={first.id}>
                {options.slice(1)}
              </Select>
            )}
          </Field>
          <Button
            type="submit"
            icon={<Plus aria-hidden className="size-4" />}
            isBusy={choose.isPending}
            disabled={repository.trim() === ''}
          >
            {t('images.use_for_repository')}
          </Button>
        </form>
      )}
      {choose.error && <ErrorState error={choose.error} />}
    </Card>
  )
}

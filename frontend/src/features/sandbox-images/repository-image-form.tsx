import { Check, Eye } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type NewSandboxSpec,
  type RepositorySource,
  useInspectRepository,
} from '@/api/sandboxes/sandbox-specs'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { BuildDetails } from './build-details'

export interface RepositoryImageFormProps {
  name: string
  isBusy: boolean
  onAdd: (spec: NewSandboxSpec) => void
}

/** Shows the image that a repository describes. The user can allow only the version that was shown. */
export function RepositoryImageForm({ name, isBusy, onAdd }: RepositoryImageFormProps) {
  const { t } = useTranslation()
  const look = useInspectRepository()
  const [asked, setAsked] = useState({ repository: '', branch: '', path: '' })
  const input = (field: keyof typeof asked, label: string, placeholder: string) => (
    <Field label={label} className="flex-1 basis-44">
      {(control) => (
        <Input
          {...control}
          value={asked[field]}
          onChange={(event) => {
            setAsked({ ...asked, [field]: event.target.value })
            look.reset()
          }}
          placeholder={placeholder}
          spellCheck={false}
          autoCapitalize="none"
          className="font-mono"
        />
      )}
    </Field>
  )
  const found = look.data
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        look.mutate(request(asked))
      }}
    >
      <div className="flex flex-wrap gap-3">
        {input('repository', t('images.repository'), 'owner/name')}
        {input('branch', t('images.branch'), t('images.branch_placeholder'))}
        {input('path', t('images.path'), '.devcontainer/devcontainer.json')}
      </div>
      {look.error && <ErrorState error={look.error} title={t('images.look_failed')} />}
      {found && (
        <div className="rounded-md border border-border p-3">
          <p className="mb-2 text-sm font-medium wrap-anywhere">
            {found.repository}: {found.path}
            <span className="block font-normal text-muted">
              {t('images.context', { count: found.files })}
            </span>
          </p>
          <BuildDetails base={found.base} dockerfile={found.dockerfile} ignored={found.ignored} />
        </div>
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          type="submit"
          variant={found ? 'secondary' : 'primary'}
          icon={<Eye aria-hidden className="size-4" />}
          isBusy={look.isPending}
          disabled={asked.repository.trim() === ''}
        >
          {t('images.look')}
        </Button>
        {found && (
          <Button
            variant="primary"
            icon={<Check aria-hidden className="size-4" />}
            isBusy={isBusy}
            disabled={name === ''}
            onClick={() => onAdd({ name, repository: request(asked), base: found.base })}
          >
            {t('images.allow')}
          </Button>
        )}
      </div>
    </form>
  )
}

function request(asked: { repository: string; branch: string; path: string }): RepositorySource {
  return {
    selected_repository: asked.repository.trim(),
    selected_branch: asked.branch.trim() || null,
    path: asked.path.trim() || null,
  }
}

import { useTranslation } from 'react-i18next'
import type { RetryStart, StartError, StartTask } from '@/api/types'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

/**
 * The repository, the branch and the folder for the next attempt. Shows nothing if the start failed in
 * another stage than the repository's stage.
 */
export function RetryFields({ task, error }: { task: StartTask; error: StartError }) {
  const { t } = useTranslation()
  const {
    selected_repository: repository,
    selected_branch: branch,
    selected_directory: directory,
    snapshot_id: snapshot,
  } = task.request
  if (error.stage !== 'PREPARING_REPOSITORY' || !repository || snapshot) return null
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label={t('home.repository')}>
        {(control) => (
          <Input {...control} name="repository" defaultValue={repository} spellCheck={false} required />
        )}
      </Field>
      <Field label={t('home.branch')}>
        {(control) => (
          <Input
            {...control}
            name="branch"
            defaultValue={branch ?? ''}
            placeholder={t('home.branch_placeholder')}
            spellCheck={false}
          />
        )}
      </Field>
      {(directory || error.code.startsWith('directory_')) && (
        <Field label={t('home.directory')}>
          {(control) => (
            <Input
              {...control}
              name="directory"
              defaultValue={directory ?? ''}
              placeholder={t('home.directory_placeholder')}
              spellCheck={false}
            />
          )}
        </Field>
      )}
    </div>
  )
}

/** Returns the fields of the form that differ from the failed start. */
export function retryChanges({ request }: StartTask, form: FormData): RetryStart | undefined {
  const typed = (name: string) => (form.get(name) as string | null)?.trim() ?? null
  const repository = typed('repository')
  if (!repository) return undefined
  const branch = typed('branch') || null
  const before = request.selected_directory ?? null
  const directory = form.has('directory') ? typed('directory') || null : before
  const change: RetryStart = {
    ...(repository !== request.selected_repository && { selected_repository: repository }),
    ...(branch !== (request.selected_branch ?? null) && { selected_branch: branch }),
    ...(directory !== before && { selected_directory: directory }),
  }
  return Object.keys(change).length > 0 ? change : undefined
}

import { FolderGit2, GitBranch, Plus, X } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { type Control, useFieldArray, type UseFormRegister, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { IconButton } from '@/ui/form/icon-button'
import { Input } from '@/ui/form/input'
import { CloneFields } from './clone-fields'
import { useBranchSearch, useRepositorySearch } from './repository-search'
import { FieldLabel } from './field-label'
import { recentRepositories } from './recent-repositories'
import type { TaskInput } from './start-request'

/** The number of further repositories that the app server accepts beside the first one. */
const MAX_MORE = 9

interface FormProps {
  form: Control<TaskInput>
  register: UseFormRegister<TaskInput>
}

export interface RepositoryFieldsProps extends FormProps {
  /** The reason why the app server has refused the repository. */
  repositoryError: ReactNode
  branchError: ReactNode
  directoryError: ReactNode
}

/** The fields for the repositories of the task: the first one, and others beside it. */
export function RepositoryFields({
  form,
  register,
  repositoryError,
  branchError,
  directoryError,
}: RepositoryFieldsProps) {
  const { t } = useTranslation()
  const { fields, append, remove } = useFieldArray({ control: form, name: 'more' })
  const first = useWatch({ control: form, name: 'repository' })
  return (
    <>
      <RepositoryRow
        form={form}
        register={register}
        repositoryName="repository"
        branchName="branch"
        repositoryError={repositoryError}
        branchError={branchError}
      />
      {fields.map((field, index) => (
        <RepositoryRow
          key={field.id}
          form={form}
          register={register}
          number={index + 2}
          repositoryName={`more.${index}.repository`}
          branchName={`more.${index}.branch`}
          onRemove={() => remove(index)}
        />
      ))}
      {first.trim() && fields.length < MAX_MORE && (
        <div className="col-span-12 -mt-2">
          <Button
            variant="ghost"
            size="sm"
            icon={<Plus className="size-4" />}
            onClick={() => append({ repository: '', branch: '' })}
          >
            {t('home.add_repository')}
          </Button>
        </div>
      )}
      {first.trim() && <CloneFields register={register} directoryError={directoryError} />}
    </>
  )
}

interface RepositoryRowProps extends FormProps {
  repositoryName: 'repository' | `more.${number}.repository`
  branchName: 'branch' | `more.${number}.branch`
  /** The number of a further repository. It is left out for the first repository. */
  number?: number
  repositoryError?: ReactNode
  branchError?: ReactNode
  onRemove?: () => void
}

/** The fields for a repository and its branch. They search for the typed text at the user's git hosts. */
function RepositoryRow({
  form,
  register,
  repositoryName,
  branchName,
  number,
  repositoryError,
  branchError,
  onRemove,
}: RepositoryRowProps) {
  const { t } = useTranslation()
  const repositoriesId = useId()
  const branchesId = useId()
  // React renders a removed row once more. Then its values are missing.
  const [repository = '', branch = ''] = useWatch({ control: form, name: [repositoryName, branchName] })
  const { repositories, failures } = useRepositorySearch(repository)
  const branches = useBranchSearch(repository, branch)
  return (
    <>
      <Field
        className="col-span-12 sm:col-span-8"
        label={
          <FieldLabel icon={<FolderGit2 />}>
            {number ? t('home.repository_number', { number }) : t('home.repository')}
          </FieldLabel>
        }
        error={repositoryError}
        hint={failures.map((failure) => t('home.host_failed', failure)).join(' ')}
      >
        {(control) => (
          <Input
            {...control}
            list={repositoriesId}
            placeholder={t('home.repository_placeholder')}
            {...register(repositoryName)}
          />
        )}
      </Field>
      <div className="col-span-12 flex items-end gap-2 sm:col-span-4">
        <Field
          className="min-w-0 flex-1"
          label={
            <FieldLabel icon={<GitBranch />}>
              {number ? t('home.branch_number', { number }) : t('home.branch')}
            </FieldLabel>
          }
          error={branchError}
        >
          {(control) => (
            <Input
              {...control}
              list={branchesId}
              placeholder={t('home.branch_placeholder')}
              disabled={!repository.trim()}
              {...register(branchName)}
            />
          )}
        </Field>
        {onRemove && (
          <IconButton
            label={t('home.remove_repository', { number })}
            icon={<X className="size-4" />}
            onClick={onRemove}
          />
        )}
      </div>
      <datalist id={repositoriesId}>
        {recentRepositories().map((recent) => (
          <option key={recent} value={recent} />
        ))}
        {repositories.map(({ clone_url, full_name }) => (
          <option key={clone_url} value={clone_url} label={full_name} />
        ))}
      </datalist>
      <datalist id={branchesId}>
        {branches.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

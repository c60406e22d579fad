import { FolderGit2, GitBranch } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { type Control, type UseFormRegister, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { useFoundBranches, useFoundRepositories } from './found-repositories'
import { Labelled } from './labelled'
import { recentRepositories } from './recent-repositories'
import type { TaskInput } from './start-request'

export interface RepositoryFieldsProps {
  form: Control<TaskInput>
  register: UseFormRegister<TaskInput>
  /** What the server has refused. */
  repositoryError: ReactNode
  branchError: ReactNode
}

/** Where the task happens. What one types is searched for at the user's git hosts. */
export function RepositoryFields({ form, register, repositoryError, branchError }: RepositoryFieldsProps) {
  const { t } = useTranslation()
  const repositoriesId = useId()
  const branchesId = useId()
  const [repository, branch] = useWatch({ control: form, name: ['repository', 'branch'] })
  const { repositories, failures } = useFoundRepositories(repository)
  const branches = useFoundBranches(repository, branch)
  return (
    <>
      <Field
        className="col-span-12 sm:col-span-8"
        label={<Labelled icon={<FolderGit2 />}>{t('home.repository')}</Labelled>}
        error={repositoryError}
        hint={failures.map((failure) => t('home.host_failed', failure)).join(' ')}
      >
        {(control) => (
          <Input
            {...control}
            list={repositoriesId}
            placeholder={t('home.repository_placeholder')}
            {...register('repository')}
          />
        )}
      </Field>
      <Field
        className="col-span-6 sm:col-span-4"
        label={<Labelled icon={<GitBranch />}>{t('home.branch')}</Labelled>}
        error={branchError}
      >
        {(control) => (
          <Input
            {...control}
            list={branchesId}
            placeholder={t('home.branch_placeholder')}
            disabled={!repository.trim()}
            {...register('branch')}
          />
        )}
      </Field>
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

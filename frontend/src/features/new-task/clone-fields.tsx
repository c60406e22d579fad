import { FolderTree, History } from 'lucide-react'
import type { ReactNode } from 'react'
import type { UseFormRegister } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { Labelled } from './labelled'
import { CLONE_MODES, type TaskInput } from './start-request'

export interface CloneFieldsProps {
  register: UseFormRegister<TaskInput>
  /** What the server has refused about the folder. */
  directoryError: ReactNode
}

/** What few tasks need: in which folder the agent works, and how much of the repository is fetched. */
export function CloneFields({ register, directoryError }: CloneFieldsProps) {
  const { t } = useTranslation()
  return (
    <details className="col-span-12 -mt-2 text-sm" open={directoryError ? true : undefined}>
      <summary className="w-fit cursor-pointer rounded-md px-1 text-muted hover:text-text">
        {t('home.advanced')}
      </summary>
      <div className="mt-3 grid grid-cols-12 gap-4">
        <Field
          className="col-span-12 sm:col-span-6"
          label={<Labelled icon={<FolderTree />}>{t('home.directory')}</Labelled>}
          hint={t('home.directory_hint')}
          error={directoryError}
        >
          {(control) => (
            <Input
              {...control}
              placeholder={t('home.directory_placeholder')}
              spellCheck={false}
              {...register('directory')}
            />
          )}
        </Field>
        <Field
          className="col-span-12 sm:col-span-6"
          label={<Labelled icon={<History />}>{t('home.clone')}</Labelled>}
          hint={t('home.clone_hint')}
        >
          {(control) => (
            <Select {...control} {...register('clone')}>
              {CLONE_MODES.map((mode) => (
                <option key={mode} value={mode}>
                  {t(`home.clone_mode.${mode}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <label className="col-span-12 flex items-center gap-2">
          <input type="checkbox" className="size-4 accent-accent" {...register('submodules')} />
          {t('home.submodules')}
        </label>
      </div>
    </details>
  )
}

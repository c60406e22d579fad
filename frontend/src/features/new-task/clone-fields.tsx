import { useQuery } from '@tanstack/react-query'
import { Blocks, FolderTree, History } from 'lucide-react'
import type { ReactNode } from 'react'
import type { UseFormRegister } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { CLONE_MODES, type CloneMode, cloneSetting } from '@/api/git/cloning'
import { effectiveSettingsQuery } from '@/api/people/levels'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { FieldLabel } from './field-label'
import type { TaskInput } from './start-request'

export interface CloneFieldsProps {
  register: UseFormRegister<TaskInput>
  /** The reason why the app server has refused the folder. */
  directoryError: ReactNode
}

/**
 * Fields that only few tasks need: the folder in which the agent works, and how much of the repository is
 * fetched.
 */
export function CloneFields({ register, directoryError }: CloneFieldsProps) {
  const { t } = useTranslation()
  const levels = useQuery(effectiveSettingsQuery()).data
  const clone = cloneSetting(levels, 'clone')
  const submodules = cloneSetting(levels, 'submodules')
  return (
    <details className="col-span-12 -mt-2 text-sm" open={directoryError ? true : undefined}>
      <summary className="w-fit cursor-pointer rounded-md px-3 text-muted hover:text-text">
        {t('home.advanced')}
      </summary>
      <div className="mt-2 grid grid-cols-12 gap-4 rounded-lg border border-border bg-sunken/50 p-4">
        <Field
          className="col-span-12 sm:col-span-6"
          label={<FieldLabel icon={<FolderTree />}>{t('home.directory')}</FieldLabel>}
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
          label={<FieldLabel icon={<History />}>{t('cloning.history')}</FieldLabel>}
          hint={t('cloning.history_hint')}
        >
          {(control) => (
            <Select {...control} {...register('clone')}>
              <option value="">
                {t('cloning.as_set', { value: t(`cloning.mode_${clone.value as CloneMode}`) })}
              </option>
              {(clone.isEnforced ? [] : CLONE_MODES).map((mode) => (
                <option key={mode} value={mode}>
                  {t(`cloning.mode_${mode}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          className="col-span-12 sm:col-span-6"
          label={<FieldLabel icon={<Blocks />}>{t('cloning.submodules')}</FieldLabel>}
          hint={t('cloning.submodules_hint')}
        >
          {(control) => (
            <Select {...control} {...register('submodules')}>
              <option value="">
                {t('cloning.as_set', { value: t(`cloning.submodules_${submodules.value === true}`) })}
              </option>
              {!submodules.isEnforced && (
                <>
                  <option value="true">{t('cloning.submodules_true')}</option>
                  <option value="false">{t('cloning.submodules_false')}</option>
                </>
              )}
            </Select>
          )}
        </Field>
      </div>
    </details>
  )
}

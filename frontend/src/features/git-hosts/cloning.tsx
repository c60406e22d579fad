import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { CLONE_MODES, type CloneMode, cloneSetting, useSaveCloning } from '@/api/git/cloning'
import { effectiveSettingsQuery } from '@/api/people/levels'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'
import { SectionHeader } from '@/ui/layout/section-header'

/** The settings that decide how much of a repository new conversations fetch. */
export function CloningSection() {
  const { t } = useTranslation()
  const query = useQuery(effectiveSettingsQuery())
  const save = useSaveCloning()
  const clone = cloneSetting(query.data, 'clone')
  const submodules = cloneSetting(query.data, 'submodules')
  return (
    <section aria-label={t('cloning.title')} className="mt-8">
      <SectionHeader title={t('cloning.title')} lead={t('cloning.lead')} />
      {query.isPending && <SkeletonList rows={1} label={t('cloning.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={t('cloning.history')} hint={t('cloning.history_hint')}>
            {(control) => (
              <Select
                {...control}
                disabled={clone.isEnforced || save.isPending}
                value={String(clone.own ?? '')}
                onChange={(event) => save.mutate({ clone: (event.target.value || null) as CloneMode | null })}
              >
                <option value="">
                  {t('cloning.default', { value: t(`cloning.mode_${clone.inherited as CloneMode}`) })}
                </option>
                {CLONE_MODES.map((mode) => (
                  <option key={mode} value={mode}>
                    {t(`cloning.mode_${mode}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t('cloning.submodules')} hint={t('cloning.submodules_hint')}>
            {(control) => (
              <Select
                {...control}
                disabled={submodules.isEnforced || save.isPending}
                value={String(submodules.own ?? '')}
                onChange={({ target }) =>
                  save.mutate({ submodules: target.value === '' ? null : target.value === 'true' })
                }
              >
                <option value="">
                  {t('cloning.default', { value: t(`cloning.submodules_${submodules.inherited === true}`) })}
                </option>
                <option value="true">{t('cloning.submodules_true')}</option>
                <option value="false">{t('cloning.submodules_false')}</option>
              </Select>
            )}
          </Field>
        </div>
      )}
      {save.isError && <ErrorState error={save.error} title={t('cloning.save_failed')} className="mt-4" />}
    </section>
  )
}

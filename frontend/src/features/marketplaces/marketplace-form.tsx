import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type Marketplaces, useSaveMarketplaces } from '@/api/agents/marketplaces'
import { AddForm } from '@/ui/form/add-form'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

interface Values {
  name: string
  source: string
  ref: string
  path: string
  list: keyof Marketplaces
}

const EMPTY: Values = { name: '', source: '', ref: '', path: '', list: 'own' }
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const SOURCE = /^(github:[\w.-]+\/[\w.-]+|https?:\/\/[^@\s]+)$/

export function MarketplaceForm({ all, mayShare }: { all: Marketplaces; mayShare: boolean }) {
  const { t } = useTranslation()
  const save = useSaveMarketplaces()
  const { register, handleSubmit, formState, reset, getValues } = useForm<Values>({ defaultValues: EMPTY })
  const { errors } = formState
  const submit = handleSubmit(({ name, source, ref, path, list }) => {
    const added = { name, source, ref: ref || null, repo_path: path || null, auto_load: false }
    save.mutate({ list, marketplaces: [...all[list], added] }, { onSuccess: () => reset() })
  })
  const isNew = (name: string) => all[getValues('list')].every((each) => each.name !== name)
  return (
    <AddForm
      onSubmit={(event) => void submit(event)}
      label={t('marketplaces.add')}
      isBusy={save.isPending}
      error={save.error}
      errorTitle={t('marketplaces.save_failed')}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <Field
          label={t('marketplaces.name')}
          error={
            errors.name &&
            t(errors.name.type === 'isNew' ? 'marketplaces.name_taken' : 'marketplaces.name_invalid')
          }
        >
          {(ids) => (
            <Input {...ids} {...register('name', { required: true, pattern: NAME, validate: { isNew } })} />
          )}
        </Field>
        <Field label={t('marketplaces.source')} error={errors.source && t('marketplaces.source_invalid')}>
          {(ids) => (
            <Input
              {...ids}
              placeholder="github:acme/skills"
              {...register('source', { required: true, pattern: SOURCE })}
            />
          )}
        </Field>
        <Field label={t('marketplaces.ref')} hint={t('marketplaces.ref_hint')}>
          {(ids) => <Input {...ids} {...register('ref', { setValueAs: trimmed })} />}
        </Field>
        <Field label={t('marketplaces.path')} hint={t('marketplaces.path_hint')}>
          {(ids) => <Input {...ids} {...register('path', { setValueAs: trimmed })} />}
        </Field>
        {mayShare && (
          <Field label={t('marketplaces.for')}>
            {(ids) => (
              <Select {...ids} {...register('list')}>
                <option value="own">{t('marketplaces.for_you')}</option>
                <option value="shared">{t('marketplaces.for_everyone')}</option>
              </Select>
            )}
          </Field>
        )}
      </div>
    </AddForm>
  )
}

function trimmed(text: string): string {
  return text.trim()
}

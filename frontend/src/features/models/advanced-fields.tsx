import type { UseFormRegister } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import type { ModelFacts } from '@/api/models/model-facts'
import { EFFORTS } from '@/api/models/profile-options'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { Textarea } from '@/ui/form/textarea'
import type { ModelFormValues } from './model-schema'
import { pricePerMillion } from './token-prices'

export interface AdvancedFieldsProps {
  register: UseFormRegister<ModelFormValues>
  errorOf: (field: keyof ModelFormValues, wireName: string) => string | undefined
  /** The values that apply to empty fields. Undefined while they are not known. */
  facts?: ModelFacts
  /** Whether the user can choose the place where the model runs. */
  hasLocation: boolean
  /** The names of the stored headers. */
  storedHeaders: string[]
}

/** The options for calls of the model. An empty field shows the value that applies in its place. */
export function AdvancedFields({
  register,
  errorOf,
  facts,
  hasLocation,
  storedHeaders,
}: AdvancedFieldsProps) {
  const { t } = useTranslation()
  const refused = (name: string) => facts?.refused.includes(name)
  const numbers = [
    ['contextWindow', 'max_input_tokens', 'models.context_window', facts?.context_window],
    ['outputLimit', 'max_output_tokens', 'models.output_limit', facts?.max_output_tokens],
    ['temperature', 'temperature', 'models.temperature', refused('temperature') && t('models.refused')],
    ['topP', 'top_p', 'models.top_p', refused('top_p') && t('models.refused')],
    ['timeout', 'timeout', 'models.timeout', undefined],
    [
      'cacheReadPrice',
      'cache_read_cost_per_token',
      'models.cache_read_price',
      pricePerMillion(facts?.cache_read_cost_per_token),
    ],
    [
      'cacheWritePrice',
      'cache_write_cost_per_token',
      'models.cache_write_price',
      pricePerMillion(facts?.cache_write_cost_per_token),
    ],
  ] as const
  const efforts = facts?.efforts ?? EFFORTS
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">{t('models.advanced')}</summary>
      <div className="mt-3 grid grid-cols-2 items-end gap-4 sm:grid-cols-3">
        <Field
          label={t('models.effort')}
          hint={efforts.length === 0 ? t('models.effort_none') : undefined}
          error={errorOf('effort', 'reasoning_effort')}
        >
          {(control) => (
            <Select {...control} {...register('effort')}>
              <option value="">{t('models.usual')}</option>
              {EFFORTS.map((effort) => (
                <option key={effort} value={effort} disabled={!efforts.includes(effort)}>
                  {effort}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label={t('models.thinking_budget')}
          hint={facts && !facts.takes_thinking_budget ? t('models.thinking_budget_none') : undefined}
          error={errorOf('thinkingBudget', 'thinking_budget')}
        >
          {(control) => <Input {...control} inputMode="numeric" {...register('thinkingBudget')} />}
        </Field>
        <Field label={t('models.images')} error={errorOf('images', 'supports_images')}>
          {(control) => (
            <Select {...control} {...register('images')}>
              <option value="">
                {facts
                  ? t(facts.sees_images ? 'models.images_usual_yes' : 'models.images_usual_no')
                  : t('models.usual')}
              </option>
              <option value="yes">{t('models.images_yes')}</option>
              <option value="no">{t('models.images_no')}</option>
            </Select>
          )}
        </Field>
        <Field
          className="col-span-2 sm:col-span-3"
          label={t('models.tool_calls')}
          hint={t('models.tool_calls_hint')}
          error={errorOf('toolCalls', 'native_tool_calling')}
        >
          {(control) => (
            <Select {...control} {...register('toolCalls')}>
              <option value="">
                {facts
                  ? t(facts.calls_tools ? 'models.tool_calls_usual_native' : 'models.tool_calls_usual_text')
                  : t('models.usual')}
              </option>
              <option value="native">{t('models.tool_calls_native')}</option>
              <option value="text">{t('models.tool_calls_text')}</option>
            </Select>
          )}
        </Field>
        {numbers.map(([name, wireName, label, usual]) => (
          <Field key={name} label={t(label)} error={errorOf(name, wireName)}>
            {(control) => (
              <Input
                {...control}
                inputMode="decimal"
                placeholder={usual ? usual.toString() : t('models.usual')}
                {...register(name)}
              />
            )}
          </Field>
        ))}
        {hasLocation && (
          <Field label={t('models.location')} error={errorOf('location', 'location')}>
            {(control) => <Input {...control} placeholder="global" {...register('location')} />}
          </Field>
        )}
        <Field
          className="col-span-2 sm:col-span-3"
          label={t('models.fallbacks')}
          hint={t('models.fallbacks_hint')}
          error={errorOf('fallbacks', 'fallbacks')}
        >
          {(control) => <Input {...control} {...register('fallbacks')} />}
        </Field>
      </div>
      <div className="mt-4 grid gap-4 sm:grid-cols-2">
        <div className="flex flex-col gap-2">
          <Field
            label={t('models.extra_headers')}
            hint={
              storedHeaders.length
                ? t('models.extra_headers_keep', { names: storedHeaders.join(', ') })
                : t('models.extra_headers_hint')
            }
            error={errorOf('extraHeaders', 'extra_headers')}
          >
            {(control) => (
              <Textarea {...control} className="font-mono" autoComplete="off" {...register('extraHeaders')} />
            )}
          </Field>
          {storedHeaders.length > 0 && (
            <label className="flex items-center gap-2 text-sm">
              <input type="checkbox" {...register('clearHeaders')} />
              {t('models.extra_headers_clear')}
            </label>
          )}
        </div>
        <Field
          label={t('models.extra_body')}
          hint={t('models.extra_body_hint')}
          error={errorOf('extraBody', 'extra_body')}
        >
          {(control) => <Textarea {...control} className="font-mono" {...register('extraBody')} />}
        </Field>
      </div>
    </details>
  )
}

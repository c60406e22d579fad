import { Plus, X } from 'lucide-react'
import { useFieldArray, type UseFormReturn } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { IconButton } from '@/ui/form/icon-button'
import { Input } from '@/ui/form/input'
import type { ServerFormValues } from './server-schema'

const LISTS = {
  headers: {
    legend: 'mcp_servers.headers',
    name: 'mcp_servers.header_name',
    value: 'mcp_servers.header_value',
    add: 'mcp_servers.header_add',
    remove: 'mcp_servers.header_remove',
    hint: 'mcp_servers.headers_hint',
    examples: { name: 'Authorization', value: 'Bearer …' },
  },
  variables: {
    legend: 'mcp_servers.variables',
    name: 'mcp_servers.variable_name',
    value: 'mcp_servers.variable_value',
    add: 'mcp_servers.variable_add',
    remove: 'mcp_servers.variable_remove',
    hint: 'mcp_servers.variables_hint',
    examples: { name: 'API_TOKEN', value: '' },
  },
} as const

export interface NamedValuesFieldProps {
  form: UseFormReturn<ServerFormValues>
  list: keyof typeof LISTS
  /** The names whose values are stored. */
  stored: string[]
  error?: string
}

/**
 * A field for the names and values of headers or variables. A stored value is never shown. If its field is
 * left empty, the stored value stays.
 */
export function NamedValuesField({ form, list, stored, error }: NamedValuesFieldProps) {
  const { t } = useTranslation()
  const { fields, append, remove } = useFieldArray({ control: form.control, name: list })
  const texts = LISTS[list]
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">{t(texts.legend)}</legend>
      {fields.map((field, index) => (
        <div key={field.id} className="flex flex-col gap-2">
          <div className="flex items-center gap-2">
            <Input
              aria-label={t(texts.name, { number: index + 1 })}
              placeholder={texts.examples.name}
              className="min-w-0 font-mono"
              {...form.register(`${list}.${index}.name`)}
            />
            <Input
              aria-label={t(texts.value, { number: index + 1 })}
              type="password"
              autoComplete="new-password"
              placeholder={stored.includes(field.name) ? '••••••••••••' : texts.examples.value}
              className="min-w-0"
              {...form.register(`${list}.${index}.value`)}
            />
            <IconButton
              label={t(texts.remove, { number: index + 1 })}
              hasTooltip={false}
              icon={<X className="size-4" />}
              onClick={() => remove(index)}
            />
          </div>
          {list === 'variables' && (
            <Input
              aria-label={t('mcp_servers.variable_hosts', { number: index + 1 })}
              placeholder={t('mcp_servers.variable_hosts_example')}
              className="mr-11 w-auto min-w-0 font-mono"
              inputMode="url"
              {...form.register(`variables.${index}.hosts`)}
            />
          )}
        </div>
      ))}
      <div>
        <Button
          size="sm"
          icon={<Plus className="size-3.5" />}
          onClick={() => append({ name: '', value: '', hosts: '' })}
        >
          {t(texts.add)}
        </Button>
      </div>
      <p className="text-xs text-muted">
        {t(texts.hint)} {stored.length > 0 && t('mcp_servers.values_keep')}
      </p>
      {error && <p className="text-xs text-danger">{error}</p>}
    </fieldset>
  )
}

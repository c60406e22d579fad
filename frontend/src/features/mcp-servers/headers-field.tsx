import { Plus, X } from 'lucide-react'
import { useFieldArray, type UseFormReturn } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/button'
import { IconButton } from '@/ui/icon-button'
import { Input } from '@/ui/input'
import type { ServerFormValues } from './server-schema'

export interface HeadersFieldProps {
  form: UseFormReturn<ServerFormValues>
  /** Names of those whose values are stored. */
  stored: string[]
  error?: string
}

/** Names and values of headers. A stored value is never shown; left empty, it stays. */
export function HeadersField({ form, stored, error }: HeadersFieldProps) {
  const { t } = useTranslation()
  const { fields, append, remove } = useFieldArray({ control: form.control, name: 'headers' })
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">{t('mcp_servers.headers')}</legend>
      {fields.map((field, index) => (
        <div key={field.id} className="flex items-center gap-2">
          <Input
            aria-label={t('mcp_servers.header_name', { number: index + 1 })}
            placeholder="Authorization"
            className="min-w-0 font-mono"
            {...form.register(`headers.${index}.name`)}
          />
          <Input
            aria-label={t('mcp_servers.header_value', { number: index + 1 })}
            type="password"
            autoComplete="new-password"
            placeholder={stored.includes(field.name) ? '••••••••••••' : 'Bearer …'}
            className="min-w-0"
            {...form.register(`headers.${index}.value`)}
          />
          <IconButton
            label={t('mcp_servers.header_remove', { number: index + 1 })}
            hasTooltip={false}
            icon={<X className="size-4" />}
            onClick={() => remove(index)}
          />
        </div>
      ))}
      <div>
        <Button
          size="sm"
          icon={<Plus className="size-3.5" />}
          onClick={() => append({ name: '', value: '' })}
        >
          {t('mcp_servers.header_add')}
        </Button>
      </div>
      <p className="text-xs text-muted">
        {t(stored.length > 0 ? 'mcp_servers.headers_keep' : 'mcp_servers.headers_hint')}
      </p>
      {error && <p className="text-xs text-danger">{error}</p>}
    </fieldset>
  )
}

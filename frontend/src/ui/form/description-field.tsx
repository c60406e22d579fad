import { useTranslation } from 'react-i18next'
import { Field } from './field'
import { Input } from './input'

export interface DescriptionFieldProps {
  label: string
  description: string
  onChange: (description: string) => void
}

/**
 * The field for a description. People read the description beside an item that the organisation or a team
 * gives them.
 */
export function DescriptionField({ label, description, onChange }: DescriptionFieldProps) {
  const { t } = useTranslation()
  return (
    <Field label={label} hint={t('level_items.description_hint')}>
      {(control) => (
        <Input
          {...control}
          maxLength={1000}
          value={description}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

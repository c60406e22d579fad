import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { FieldValue, QuestionField } from '@/events/fold/mcp-questions'
import { Field, type FieldControlProps } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

export interface QuestionControlProps {
  field: QuestionField
  value: FieldValue
  onChange: (value: FieldValue) => void
}

/** One field of a form that an MCP server has described. */
export function QuestionControl(props: QuestionControlProps) {
  const { t } = useTranslation()
  const { field } = props
  if (field.kind === 'boolean') return <Checkbox {...props} label={field.title} isOn={props.value === true} />
  if (field.kind === 'choices') return <Choices {...props} />
  return (
    <Field
      label={field.title}
      hint={field.description}
      note={field.isRequired ? undefined : t('mcp_question.optional')}
    >
      {(control) =>
        field.kind === 'choice' ? (
          <Choice {...props} control={control} />
        ) : (
          <Input
            {...control}
            type={field.kind === 'number' ? 'number' : field.inputType}
            step={field.isInteger ? 1 : 'any'}
            required={field.isRequired}
            value={String(props.value)}
            onChange={(event) => props.onChange(event.target.value)}
          />
        )
      }
    </Field>
  )
}

function Choice({ field, value, onChange, control }: QuestionControlProps & { control: FieldControlProps }) {
  const { t } = useTranslation()
  return (
    <Select
      {...control}
      required={field.isRequired}
      value={String(value)}
      onChange={(event) => onChange(event.target.value)}
    >
      {!field.hasDefault && <option value="">{t('mcp_question.choose')}</option>}
      {field.options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </Select>
  )
}

function Choices({ field, value, onChange }: QuestionControlProps) {
  const chosen = Array.isArray(value) ? value : []
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="text-sm font-medium">{field.title}</legend>
      {field.description && <p className="text-xs text-muted">{field.description}</p>}
      {field.options.map((option) => (
        <Checkbox
          key={option.value}
          label={option.label}
          isOn={chosen.includes(option.value)}
          onChange={(isOn) =>
            onChange(isOn ? [...chosen, option.value] : chosen.filter((one) => one !== option.value))
          }
        />
      ))}
    </fieldset>
  )
}

interface CheckboxProps {
  label: string
  field?: QuestionField
  isOn: boolean
  onChange: (isOn: boolean) => void
}

function Checkbox({ label, field, isOn, onChange }: CheckboxProps) {
  const id = useId()
  return (
    <div className="flex items-start gap-2">
      <input
        id={id}
        type="checkbox"
        aria-describedby={field?.description ? `${id}-hint` : undefined}
        className="mt-0.5 size-4 accent-accent"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id} className="text-sm">
          {label}
        </label>
        {field?.description && (
          <p id={`${id}-hint`} className="text-xs text-muted">
            {field.description}
          </p>
        )}
      </div>
    </div>
  )
}

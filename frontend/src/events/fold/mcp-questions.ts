/** Reads the open questions of MCP servers to the user from the log. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export type FieldValue = string | boolean | string[]

export interface QuestionField {
  name: string
  title: string
  description: string | null
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices'
  /** The expected format of a text. It is the type of the input element. */
  inputType: 'text' | 'email' | 'url' | 'date'
  isInteger: boolean
  isRequired: boolean
  hasDefault: boolean
  options: { value: string; label: string }[]
  /** The default value, in the format of the field's control. */
  initial: FieldValue
}

/**
 * A question of an MCP server. `url` is the page that the user must open. If there is no `url`, the question
 * is a form.
 */
export interface McpQuestion {
  id: string
  server: string
  message: string
  url: string | null
  fields: QuestionField[]
}

/**
 * Returns all questions that are open after `event`. Returns null if the event reports nothing about
 * questions.
 */
export function mcpQuestionsOf(event: ConversationEvent): McpQuestion[] | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const questions = (event.value as { mcp_questions?: unknown } | null)?.mcp_questions
  return Array.isArray(questions) ? questions.flatMap((one: unknown) => questionOf(asRecord(one))) : null
}

/**
 * Returns the content to send for a form. Empty fields are left out, unless an empty text replaces a default.
 */
export function contentOf(
  fields: readonly QuestionField[],
  values: Record<string, FieldValue>,
): Record<string, FieldValue | number> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = values[field.name] ?? field.initial
      const isLeftOut = value === '' && !(field.kind === 'text' && field.hasDefault)
      if (isLeftOut || (Array.isArray(value) && value.length === 0 && !field.hasDefault)) return []
      return [[field.name, field.kind === 'number' ? Number(value) : value] as const]
    }),
  )
}

function questionOf({ id, server, message, url, requested_schema }: Record<string, unknown>): McpQuestion[] {
  if (typeof id !== 'string' || typeof server !== 'string' || typeof message !== 'string') return []
  const asked = { id, server, message, url: typeof url === 'string' ? url : null }
  const { properties, required } = asRecord(requested_schema)
  const fields = Object.entries(asRecord(properties)).map(([name, schema]) =>
    fieldOf(name, asRecord(schema), Array.isArray(required) && required.includes(name)),
  )
  return [{ ...asked, fields }]
}

const INPUT_TYPES: Record<string, QuestionField['inputType']> = { email: 'email', uri: 'url', date: 'date' }

function fieldOf(name: string, schema: Record<string, unknown>, isRequired: boolean): QuestionField {
  const type = schema['type']
  const options = optionsOf(type === 'array' ? asRecord(schema['items']) : schema)
  const kind = kindOf(type, options.length > 0)
  return {
    name,
    title: textOf(schema['title']) ?? name,
    description: textOf(schema['description']),
    kind,
    inputType: INPUT_TYPES[textOf(schema['format']) ?? ''] ?? 'text',
    isInteger: type === 'integer',
    isRequired,
    hasDefault: schema['default'] !== undefined && schema['default'] !== null,
    options,
    initial: initialOf(kind, schema['default']),
  }
}

function kindOf(type: unknown, hasOptions: boolean): QuestionField['kind'] {
  if (type === 'boolean') return 'boolean'
  if (type === 'number' || type === 'integer') return 'number'
  if (type === 'array') return 'choices'
  return hasOptions ? 'choice' : 'text'
}

function initialOf(kind: QuestionField['kind'], value: unknown): FieldValue {
  if (kind === 'boolean') return value === true
  if (kind === 'choices') return Array.isArray(value) ? value.map(String) : []
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/**
 * Returns the choices of a field. They are in `enum` with names for the values, or in a list of `{const,
 * title}`.
 */
function optionsOf(schema: Record<string, unknown>): QuestionField['options'] {
  const { enum: values, enumNames: names } = schema
  if (Array.isArray(values))
    return values.map((value, index) => ({
      value: String(value),
      label: (Array.isArray(names) ? textOf(names[index]) : null) ?? String(value),
    }))
  const titled = schema['oneOf'] ?? schema['anyOf']
  if (!Array.isArray(titled)) return []
  return titled.map(asRecord).map((one) => ({
    value: String(one['const']),
    label: textOf(one['title']) ?? String(one['const']),
  }))
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

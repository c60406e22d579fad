import type { components } from './schema.gen'

/**
 * The types of the app server's OpenAPI document, by their names in the document. `npm run generate` makes
 * them.
 */
export type Schemas = components['schemas']

/**
 * A type as replies contain it. The document marks a field with a default as optional, because requests may
 * leave it out. Replies always contain the field.
 */
export type Sent<T> = T extends readonly (infer Item)[]
  ? Sent<Item>[]
  : T extends object
    ? { [Key in keyof T]-?: Sent<Exclude<T[Key], undefined>> }
    : T

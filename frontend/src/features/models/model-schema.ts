import * as z from 'zod/mini'
import { parseBody, parseHeaders } from './extra-headers'

const amount = (error = 'models.budget_invalid') =>
  z.string().check(z.trim(), z.regex(/^(\d+([.,]\d+)?)?$/, error))
const whole = () => z.string().check(z.trim(), z.regex(/^\d*$/, 'models.whole_invalid'))

/**
 * The rules of the form. The messages are i18n keys. If the key is empty, the stored key stays. If an option
 * is empty, the default applies.
 */
export const modelSchema = z.object({
  name: z
    .string()
    .check(z.trim(), z.minLength(1, 'models.name_required'), z.regex(/^[\w.-]*$/, 'models.name_invalid')),
  model: z.string().check(z.trim(), z.minLength(1, 'models.model_required')),
  baseUrl: z.string().check(z.trim(), z.regex(/^(https?:\/\/\S+)?$/, 'models.base_url_invalid')),
  apiKey: z.string().check(z.trim()),
  /** US dollars. Empty means no limit. */
  budget: amount(),
  /** US dollars per million tokens. Empty means the listed price of the model. */
  inputPrice: amount(),
  outputPrice: amount(),
  cacheReadPrice: amount(),
  cacheWritePrice: amount(),
  effort: z.string(),
  /** This field and the next two are numbers of tokens. */
  thinkingBudget: whole(),
  outputLimit: whole(),
  contextWindow: whole(),
  temperature: amount('models.number_invalid'),
  topP: amount('models.number_invalid'),
  /** A number of seconds. */
  timeout: amount('models.number_invalid'),
  images: z.enum(['', 'yes', 'no']),
  toolCalls: z.enum(['', 'native', 'text']),
  /** Names of profiles, separated by commas or spaces. */
  fallbacks: z.string().check(z.trim(), z.regex(/^[\w.,\s-]*$/, 'models.fallbacks_invalid')),
  /** The location of a model at Vertex AI, such as `europe-west4`. */
  location: z.string().check(z.trim(), z.regex(/^([a-z][a-z0-9-]*)?$/, 'models.location_invalid')),
  /** `Name: value` on each line. If it is empty, the stored headers stay. */
  extraHeaders: z
    .string()
    .check(z.refine((text) => parseHeaders(text) !== undefined, 'models.extra_headers_invalid')),
  clearHeaders: z.boolean(),
  /** The text of a JSON object. */
  extraBody: z.string().check(z.refine((text) => parseBody(text) !== undefined, 'models.extra_body_invalid')),
})

export type ModelFormValues = z.infer<typeof modelSchema>

import * as z from 'zod/mini'
import { parseBody, parseHeaders } from './extra-headers'

const amount = (error = 'models.budget_invalid') =>
  z.string().check(z.trim(), z.regex(/^(\d+([.,]\d+)?)?$/, error))
const whole = () => z.string().check(z.trim(), z.regex(/^\d*$/, 'models.whole_invalid'))

/** Messages are i18n keys. An empty key means "keep what is stored"; an empty option "as is usual". */
export const modelSchema = z.object({
  name: z
    .string()
    .check(z.trim(), z.minLength(1, 'models.name_required'), z.regex(/^[\w.-]*$/, 'models.name_invalid')),
  model: z.string().check(z.trim(), z.minLength(1, 'models.model_required')),
  baseUrl: z.string().check(z.trim(), z.regex(/^(https?:\/\/\S+)?$/, 'models.base_url_invalid')),
  apiKey: z.string().check(z.trim()),
  /** US dollars; empty: no limit. */
  budget: amount(),
  /** US dollars per million tokens; empty: what is listed for the model. */
  inputPrice: amount(),
  outputPrice: amount(),
  cacheReadPrice: amount(),
  cacheWritePrice: amount(),
  effort: z.string(),
  /** Tokens; so are the next two. */
  thinkingBudget: whole(),
  outputLimit: whole(),
  contextWindow: whole(),
  temperature: amount('models.number_invalid'),
  topP: amount('models.number_invalid'),
  /** Seconds. */
  timeout: amount('models.number_invalid'),
  images: z.enum(['', 'yes', 'no']),
  toolCalls: z.enum(['', 'native', 'text']),
  /** Names of profiles, with commas or spaces between them. */
  fallbacks: z.string().check(z.trim(), z.regex(/^[\w.,\s-]*$/, 'models.fallbacks_invalid')),
  /** Of a model at Vertex AI, such as `europe-west4`. */
  location: z.string().check(z.trim(), z.regex(/^([a-z][a-z0-9-]*)?$/, 'models.location_invalid')),
  /** `Name: value` on each line; empty keeps what is stored. */
  extraHeaders: z
    .string()
    .check(z.refine((text) => parseHeaders(text) !== undefined, 'models.extra_headers_invalid')),
  clearHeaders: z.boolean(),
  /** A JSON object. */
  extraBody: z.string().check(z.refine((text) => parseBody(text) !== undefined, 'models.extra_body_invalid')),
})

export type ModelFormValues = z.infer<typeof modelSchema>

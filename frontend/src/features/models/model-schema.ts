import * as z from 'zod/mini'

const amount = () => z.string().check(z.trim(), z.regex(/^(\d+([.,]\d+)?)?$/, 'models.budget_invalid'))

/** Messages are i18n keys. An empty key means "keep what is stored". */
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
})

export type ModelFormValues = z.infer<typeof modelSchema>

import type { LLMProfile, LLMProfileInput } from '@/api/types'
import { parseDollars } from '@/lib/text/dollars'
import { parseBody, parseHeaders } from './extra-headers'
import type { ModelFormValues } from './model-schema'
import { costPerToken, numberOf, pricePerMillion } from './token-prices'

export function isAtVertex(model: string): boolean {
  return model.startsWith('vertex_ai/')
}

/** Returns the first values of the form: those of a stored profile, or empty values. */
export function valuesOf(profile: LLMProfile | undefined): ModelFormValues {
  const body = profile?.extra_body ?? {}
  return {
    name: profile?.name ?? '',
    model: profile?.model ?? '',
    baseUrl: profile?.base_url ?? '',
    apiKey: '',
    budget: written(profile?.max_budget_per_task),
    inputPrice: pricePerMillion(profile?.input_cost_per_token),
    outputPrice: pricePerMillion(profile?.output_cost_per_token),
    cacheReadPrice: pricePerMillion(profile?.cache_read_cost_per_token),
    cacheWritePrice: pricePerMillion(profile?.cache_write_cost_per_token),
    effort: profile?.reasoning_effort ?? '',
    thinkingBudget: written(profile?.thinking_budget),
    outputLimit: written(profile?.max_output_tokens),
    contextWindow: written(profile?.max_input_tokens),
    temperature: written(profile?.temperature),
    topP: written(profile?.top_p),
    timeout: written(profile?.timeout),
    images: profile?.supports_images == null ? '' : profile.supports_images ? 'yes' : 'no',
    toolCalls: profile?.native_tool_calling == null ? '' : profile.native_tool_calling ? 'native' : 'text',
    fallbacks: profile?.fallbacks.join(', ') ?? '',
    location: profile?.location ?? '',
    extraHeaders: '',
    clearHeaders: false,
    extraBody: Object.keys(body).length ? JSON.stringify(body, null, 2) : '',
  }
}

/** Returns the data to send. The key and the headers are left out if the stored ones stay. */
export function inputOf(values: ModelFormValues): LLMProfileInput {
  const headers = parseHeaders(values.extraHeaders) ?? {}
  const replacesHeaders = values.clearHeaders || Object.keys(headers).length > 0
  return {
    model: values.model,
    base_url: values.baseUrl || null,
    max_budget_per_task: parseDollars(values.budget),
    input_cost_per_token: costPerToken(values.inputPrice),
    output_cost_per_token: costPerToken(values.outputPrice),
    cache_read_cost_per_token: costPerToken(values.cacheReadPrice),
    cache_write_cost_per_token: costPerToken(values.cacheWritePrice),
    reasoning_effort: (values.effort || null) as LLMProfileInput['reasoning_effort'],
    thinking_budget: numberOf(values.thinkingBudget),
    max_output_tokens: numberOf(values.outputLimit),
    max_input_tokens: numberOf(values.contextWindow),
    temperature: numberOf(values.temperature),
    top_p: numberOf(values.topP),
    timeout: numberOf(values.timeout),
    supports_images: values.images === '' ? null : values.images === 'yes',
    native_tool_calling: values.toolCalls === '' ? null : values.toolCalls === 'native',
    fallbacks: values.fallbacks.split(/[\s,]+/).filter(Boolean),
    location: isAtVertex(values.model) ? values.location || null : null,
    extra_body: parseBody(values.extraBody) ?? {},
    ...(replacesHeaders && { extra_headers: headers }),
    ...(values.apiKey && { api_key: values.apiKey }),
  }
}

function written(value: number | null | undefined) {
  return value?.toString() ?? ''
}

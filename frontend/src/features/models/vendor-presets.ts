import type { ModelFormValues } from './model-schema'

export interface VendorPreset {
  label: string
  values: Pick<ModelFormValues, 'name' | 'model' | 'baseUrl'>
}

/** Starting points of the form; proper names, so not translated. */
export const VENDOR_PRESETS: VendorPreset[] = [
  { label: 'Anthropic', values: { name: 'claude', model: 'anthropic/claude-sonnet-4-5', baseUrl: '' } },
  { label: 'OpenAI', values: { name: 'gpt', model: 'openai/gpt-5', baseUrl: '' } },
  {
    label: 'OpenRouter',
    values: {
      name: 'openrouter',
      model: 'openrouter/anthropic/claude-sonnet-4.5',
      baseUrl: '',
    },
  },
  {
    label: 'Ollama',
    values: { name: 'local', model: 'openai/qwen3-coder', baseUrl: 'http://localhost:11434/v1' },
  },
]

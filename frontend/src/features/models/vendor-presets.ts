import type { ModelFormValues } from './model-schema'

export interface VendorPreset {
  label: string
  /** What the server has to be told, such as the length of its context; an i18n key. */
  note?: string
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
    note: 'models.note_ollama',
  },
  {
    label: 'vLLM',
    values: { name: 'vllm', model: 'openai/', baseUrl: 'http://localhost:8000/v1' },
    note: 'models.note_vllm',
  },
  {
    label: 'LM Studio',
    values: { name: 'lm-studio', model: 'openai/', baseUrl: 'http://localhost:1234/v1' },
    note: 'models.note_lm_studio',
  },
  {
    label: 'llama.cpp',
    values: { name: 'llama-cpp', model: 'openai/', baseUrl: 'http://localhost:8080/v1' },
    note: 'models.note_llama_cpp',
  },
]

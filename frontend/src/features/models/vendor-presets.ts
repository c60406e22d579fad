import type { ModelFormValues } from './model-schema'

export interface VendorPreset {
  label: string
  /**
   * Advice, as i18n keys: what to set up at the server, such as the length of its context, or what is needed
   * first.
   */
  note?: { title: string; text: string }
  values: Pick<ModelFormValues, 'name' | 'model' | 'baseUrl'>
}

function contextNote(text: string) {
  return { title: 'models.context_advice', text }
}

/** The first values of the form for each vendor. The labels are proper names, so they are not translated. */
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
    label: 'Vertex AI',
    values: { name: 'vertex', model: 'vertex_ai/gemini-3-pro-preview', baseUrl: '' },
    note: { title: 'models.vertex_key', text: 'models.note_vertex' },
  },
  {
    label: 'Ollama',
    values: { name: 'local', model: 'openai/qwen3-coder', baseUrl: 'http://localhost:11434/v1' },
    note: contextNote('models.note_ollama'),
  },
  {
    label: 'vLLM',
    values: { name: 'vllm', model: 'openai/', baseUrl: 'http://localhost:8000/v1' },
    note: contextNote('models.note_vllm'),
  },
  {
    label: 'LM Studio',
    values: { name: 'lm-studio', model: 'openai/', baseUrl: 'http://localhost:1234/v1' },
    note: contextNote('models.note_lm_studio'),
  },
  {
    label: 'llama.cpp',
    values: { name: 'llama-cpp', model: 'openai/', baseUrl: 'http://localhost:8080/v1' },
    note: contextNote('models.note_llama_cpp'),
  },
]

import { useAnswer } from '@/api/mutations'

export interface McpChangeAnswer {
  server: string
  tool: string
  fingerprint: string
  accept: boolean
}

/** Sends the user's decision whether a changed tool of an MCP server may be called in its present form. */
export function useAnswerMcpChange(id: string) {
  return useAnswer<McpChangeAnswer>(id, 'answer-mcp-change')
}

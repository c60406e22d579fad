import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Success } from '@/api/types'

export interface McpChangeAnswer {
  server: string
  tool: string
  fingerprint: string
  accept: boolean
}

/** Whether a tool that an MCP server has changed may be called as it is now. */
export function useAnswerMcpChange(id: string) {
  return useMutation({
    mutationFn: (answer: McpChangeAnswer) =>
      request<Success>(`/api/v1/app-conversations/${id}/answer-mcp-change`, { method: 'POST', body: answer }),
    meta: { errorShownInline: true },
  })
}

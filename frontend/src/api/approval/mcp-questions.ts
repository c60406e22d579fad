import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Success } from '@/api/types'

export interface McpQuestionAnswer {
  question_id: string
  action: 'accept' | 'decline' | 'cancel'
  /** Of a form that is accepted. Fields that are left out get their defaults. */
  content?: Record<string, string | number | boolean | string[]>
}

/** What an MCP server gets that has asked the user in the middle of a call. */
export function useAnswerMcpQuestion(id: string) {
  return useMutation({
    mutationFn: (answer: McpQuestionAnswer) =>
      request<Success>(`/api/v1/app-conversations/${id}/answer-mcp-question`, {
        method: 'POST',
        body: answer,
      }),
    meta: { errorShownInline: true },
  })
}

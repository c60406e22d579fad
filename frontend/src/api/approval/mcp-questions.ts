import { useAnswer } from '@/api/mutations'

export interface McpQuestionAnswer {
  question_id: string
  action: 'accept' | 'decline' | 'cancel'
  /** The values of an accepted form. Fields that are left out get their defaults. */
  content?: Record<string, string | number | boolean | string[]>
}

/** Sends the user's answer to a question that an MCP server has asked during a call. */
export function useAnswerMcpQuestion(id: string) {
  return useAnswer<McpQuestionAnswer>(id, 'answer-mcp-question')
}

import { Check, MessageCircleQuestion, X } from 'lucide-react'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAnswerMcpQuestion } from '@/api/approval/mcp-questions'
import { contentOf, type FieldValue, type McpQuestion } from '@/events/fold/mcp-questions'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { useComposerDraft } from '../composer/composer-draft'
import { QuestionControl } from './question-control'

/** Questions that an MCP server asks during a call. They are shown one at a time. */
export function McpQuestions() {
  const questions = useConversation((state) => state.view.mcpQuestions)
  const [question, ...others] = questions
  return question && <Question key={question.id} question={question} othersCount={others.length} />
}

function Question({ question, othersCount }: { question: McpQuestion; othersCount: number }) {
  const { t } = useTranslation()
  const titleId = useId()
  const { conversationId } = useComposerDraft()
  const answer = useAnswerMcpQuestion(conversationId)
  const [values, setValues] = useState<Record<string, FieldValue>>({})
  const { id, server, message, url, fields } = question
  const isSent = answer.isPending || answer.isSuccess
  const accept = () =>
    answer.mutate({
      question_id: id,
      action: 'accept',
      ...(url === null && { content: contentOf(fields, values) }),
    })
  return (
    <form
      aria-labelledby={titleId}
      className="mb-2 overflow-hidden rounded-xl border border-accent/50 bg-raised shadow-raised"
      onSubmit={(event) => {
        event.preventDefault()
        accept()
      }}
    >
      <h2 id={titleId} aria-live="polite" className="flex gap-2 px-4 pt-3 text-sm font-medium">
        <MessageCircleQuestion aria-hidden className="mt-0.5 size-4 shrink-0 text-accent" />
        <span className="min-w-0 wrap-anywhere">{t('mcp_question.title', { server })}</span>
      </h2>
      <p className="px-4 pt-1 text-sm wrap-anywhere whitespace-pre-wrap">{message}</p>
      <p className="px-4 pt-1 text-xs text-muted">{t('mcp_question.hint')}</p>
      <div className="flex max-h-[40vh] flex-col gap-3 overflow-y-auto px-4 py-3">
        {url !== null && <PageLink url={url} />}
        {fields.map((field) => (
          <QuestionControl
            key={field.name}
            field={field}
            value={values[field.name] ?? field.initial}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
      </div>
      {answer.isError && <ErrorState error={answer.error} className="mx-4 mb-3" />}
      <div className="flex flex-wrap items-center gap-2 border-t border-border bg-sunken/60 px-4 py-3">
        <Button
          type="submit"
          size="sm"
          variant="primary"
          icon={<Check aria-hidden className="size-4" />}
          isBusy={answer.isPending && answer.variables.action === 'accept'}
          disabled={isSent}
        >
          {t(url === null ? 'mcp_question.send' : 'mcp_question.done')}
        </Button>
        <Button
          size="sm"
          icon={<X aria-hidden className="size-4" />}
          isBusy={answer.isPending && answer.variables.action === 'decline'}
          disabled={isSent}
          onClick={() => answer.mutate({ question_id: id, action: 'decline' })}
        >
          {t('mcp_question.decline')}
        </Button>
        {othersCount > 0 && (
          <p className="text-xs text-muted">{t('mcp_question.others', { count: othersCount })}</p>
        )}
      </div>
    </form>
  )
}

/** A link that shows the complete address, so that the user can judge it before opening it. */
function PageLink({ url }: { url: string }) {
  const { t } = useTranslation()
  if (!/^https?:\/\//i.test(url)) return <p className="text-sm text-danger">{t('mcp_question.no_page')}</p>
  return (
    <a
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      className="font-mono text-sm break-all text-link underline"
    >
      {url}
    </a>
  )
}

import { Wrench } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { Action } from '@/events/wire/types'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { Images } from '../timeline/images'
import { Refusal, ToolStatus } from './outcome'
import { contentImages, contentText } from '../timeline/rows'
import { ReadableBlock } from '../text/readable-block'
import { ToolCard } from './tool-card'
import { observationOf, ownSummary, type ToolProps } from './tool-props'

/**
 * Shows the arguments and the answer of a tool that has no separate renderer, such as an MCP or client tool.
 */
export function GenericTool({
  event,
  outcome,
  state,
  action,
}: Omit<ToolProps, 'action'> & { action: Action | null }) {
  const { t } = useTranslation()
  const content = observationOf(outcome)?.content ?? []
  const answer = contentText(content)
  const images = contentImages(content)
  return (
    <ToolCard
      icon={<Wrench aria-hidden />}
      title={
        <>
          <span className="font-mono text-xs">{event.tool_name}</span>
          {ownSummary(event) && <span className="ml-2 text-muted">{ownSummary(event)}</span>}
        </>
      }
      status={<ToolStatus state={state} since={event.timestamp} />}
      state={state}
      isOpenByDefault={state !== 'done'}
    >
      <p className="eyebrow px-3 pt-2">{t('tool.arguments')}</p>
      <ScrollPre className="px-3 pt-1 pb-2 font-mono text-xs">
        {argumentsText(action, event.tool_call?.arguments)}
      </ScrollPre>
      {answer !== '' && (
        <div className="border-t border-border">
          <ReadableBlock text={answer} kind="answer" keep="start" isError={state === 'failed'} />
        </div>
      )}
      {images.length > 0 && (
        <div className="px-3 pb-3">
          <Images urls={images} />
        </div>
      )}
      <Refusal outcome={outcome} />
    </ToolCard>
  )
}

function argumentsText(action: Action | null, rawArguments: string | undefined): string {
  if (action === null) return indented(rawArguments ?? '')
  const fields = Object.entries(action).filter(([name]) => name !== 'kind')
  const isWrapped = fields.length === 1 && fields[0]?.[0] === 'data' // MCP calls have their arguments one level down
  return JSON.stringify(isWrapped ? fields[0]?.[1] : Object.fromEntries(fields), null, 2)
}

/** The arguments as the model wrote them. They need not be valid JSON. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

import { BookOpen, CircleAlert, Clock, RotateCw, X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { ReactNode } from 'react'
import type { StreamingItem } from '@/events/reduce'
import type { OutgoingMessage } from '@/events/store'
import type { EventOf } from '@/events/types'
import { Badge } from '@/ui/badge'
import { Button } from '@/ui/button'
import { Spinner } from '@/ui/spinner'
import { Markdown } from './markdown'
import { Reasoning } from './reasoning'
import { contentText } from './rows'

export function MessageRow({ event }: { event: EventOf<'MessageEvent'> }) {
  const text = contentText(event.llm_message.content)
  const images = event.llm_message.content.flatMap((part) => (part.type === 'image' ? part.image_urls : []))
  const skills = event.activated_skills ?? []
  if (event.source === 'user')
    return (
      <UserBubble text={text} images={images} footer={skills.length > 0 && <SkillBadges names={skills} />} />
    )
  return (
    <div>
      <Reasoning text={event.llm_message.reasoning_content} />
      <Markdown text={text} />
      <Images urls={images} />
    </div>
  )
}

/** Which skills the message brought along: the agent was given their text with it. */
function SkillBadges({ names }: { names: readonly string[] }) {
  const { t } = useTranslation()
  return (
    <>
      <span className="sr-only">{t('chat.skills_used')}</span>
      {names.map((name) => (
        <Badge key={name} icon={<BookOpen aria-hidden />}>
          {name}
        </Badge>
      ))}
    </>
  )
}

/** A reply while it is being written. */
export function StreamingRow({ item }: { item: StreamingItem }) {
  const { t } = useTranslation()
  return (
    <div>
      <Reasoning text={item.reasoning} isOpen={item.text === ''} />
      {item.hasGap && <p className="text-xs text-muted">{t('chat.streaming_gap')}</p>}
      {item.text !== '' && <Markdown text={item.text} />}
    </div>
  )
}

export interface UserBubbleProps {
  text: string
  images?: readonly string[]
  footer?: ReactNode
}

export function UserBubble({ text, images = [], footer }: UserBubbleProps) {
  const { t } = useTranslation()
  return (
    <div className="ml-auto w-fit max-w-[85%]">
      <div className="ml-auto w-fit rounded-xl rounded-br-sm border border-accent/20 bg-accent-soft px-4 py-2.5">
        <span className="sr-only">{t('chat.you_said')}</span>
        <p dir="auto" className="wrap-anywhere whitespace-pre-wrap">
          {text}
        </p>
        <Images urls={images} />
      </div>
      {footer && (
        <div className="mt-1 flex flex-wrap items-center justify-end gap-x-2 text-right text-xs text-muted">
          {footer}
        </div>
      )}
    </div>
  )
}

/** Only pictures that travelled inside the event: a remote one would tell its host who reads here. */
function Images({ urls }: { urls: readonly string[] }) {
  const { t } = useTranslation()
  return urls
    .filter((url) => url.startsWith('data:image/'))
    .map((url) => (
      <img key={url} src={url} alt={t('chat.attached_image')} className="mt-2 max-h-80 rounded-md" />
    ))
}

export interface OutgoingRowProps {
  message: OutgoingMessage
  onRetry: (message: OutgoingMessage) => void
  onDiscard: (message: OutgoingMessage) => void
}

/** A message of ours that the log does not have yet. */
export function OutgoingRow({ message, onRetry, onDiscard }: OutgoingRowProps) {
  const { t } = useTranslation()
  if (message.state !== 'failed') {
    const Icon =
      message.state === 'queued' ? <Clock aria-hidden className="size-3" /> : <Spinner className="size-3" />
    return (
      <div className="opacity-80">
        <UserBubble
          text={message.text}
          footer={
            <>
              {Icon}
              {t(`chat.outgoing.${message.state}`)}
            </>
          }
        />
      </div>
    )
  }
  return (
    <div role="alert">
      <UserBubble
        text={message.text}
        footer={
          <>
            <CircleAlert aria-hidden className="size-3.5 shrink-0 text-danger" />
            <span className="text-danger">
              {t('chat.outgoing.failed', { error: message.error ?? t('chat.outgoing.uncertain') })}
            </span>
            <Button
              size="sm"
              variant="ghost"
              icon={<RotateCw aria-hidden className="size-3" />}
              onClick={() => onRetry(message)}
            >
              {t('chat.send_again')}
            </Button>
            <Button
              size="sm"
              variant="ghost"
              icon={<X aria-hidden className="size-3" />}
              onClick={() => onDiscard(message)}
            >
              {t('chat.edit_again')}
            </Button>
          </>
        }
      />
    </div>
  )
}

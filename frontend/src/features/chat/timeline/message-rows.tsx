import { useQuery } from '@tanstack/react-query'
import { CircleAlert, Clock, RotateCw, X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { ReactNode } from 'react'
import { currentUserQuery } from '@/api/people/users'
import type { StreamingItem } from '@/events/fold/streaming'
import type { OutgoingMessage } from '@/events/store'
import type { EventOf } from '@/events/wire/types'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { Spinner } from '@/ui/feedback/spinner'
import { CriticMark } from './critic-mark'
import { Images } from './images'
import { Markdown } from '../text/markdown'
import { Reasoning } from './reasoning'
import { contentImages, contentText } from './rows'
import { SkillBadges } from './skill-badges'
import { MessageAction } from './row-actions'

export function MessageRow({ event }: { event: EventOf<'MessageEvent'> }) {
  const { t } = useTranslation()
  const text = contentText(event.llm_message.content)
  const images = contentImages(event.llm_message.content)
  const skills = event.activated_skills ?? []
  const writer = useWriter(event)
  const isUnread = useConversation(({ view }) => view.unread.some(({ id }) => id === event.id))
  if (event.source === 'user')
    return (
      <UserBubble
        text={text}
        writer={writer}
        images={images}
        footer={
          (isUnread || skills.length > 0) && (
            <>
              {skills.length > 0 && <SkillBadges label={t('chat.skills_used')} names={skills} />}
              {isUnread && (
                <>
                  <Clock aria-hidden className="size-3" />
                  {t('chat.outgoing.unread')}
                </>
              )}
            </>
          )
        }
        action={<MessageAction message={event} />}
      />
    )
  return (
    <div>
      <Reasoning text={event.llm_message.reasoning_content} />
      <Markdown text={text} />
      <Images urls={images} />
      <CriticMark result={event.critic_result} />
    </div>
  )
}

/** Returns the name of the person who wrote a message. Returns null if the current user wrote it. */
function useWriter({ sender }: EventOf<'MessageEvent'>): string | null {
  const conversation = useConversation(({ view }) => view.conversation)
  // The reader of a link has no account, and the link's stream has no data about the conversation.
  const user = useQuery({ ...currentUserQuery(), enabled: conversation !== null }).data
  if (!user || !conversation) return sender ?? null
  if (sender) return sender === user.name && conversation.created_by_user_id !== user.id ? null : sender
  return conversation.created_by_user_id === user.id || !conversation.is_shared
    ? null
    : (conversation.owner_name ?? null)
}

/** A reply that the model is writing. */
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
  /** The name of the writer, if this is another person. */
  writer?: string | null
  images?: readonly string[]
  footer?: ReactNode
  /** A control beside the bubble. It appears when the pointer or the focus is on the bubble. */
  action?: ReactNode
}

export function UserBubble({ text, writer, images = [], footer, action }: UserBubbleProps) {
  const { t } = useTranslation()
  return (
    <div className="relative ml-auto w-fit max-w-[85%]">
      {action && (
        <div className="absolute top-1 right-full mr-1 opacity-0 group-hover/row:opacity-100 focus-within:opacity-100 pointer-coarse:opacity-100">
          {action}
        </div>
      )}
      <div className="ml-auto w-fit rounded-xl rounded-br-sm border border-accent/20 bg-accent-soft px-4 py-2.5">
        {writer ? (
          <p className="mb-0.5 text-xs font-medium text-muted">{writer}</p>
        ) : (
          <span className="sr-only">{t('chat.you_said')}</span>
        )}
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

export interface OutgoingRowProps {
  message: OutgoingMessage
  onRetry: (message: OutgoingMessage) => void
  onDiscard: (message: OutgoingMessage) => void
  onWithdraw: (message: OutgoingMessage) => void
}

/** A message of the user that the log does not have yet. */
export function OutgoingRow({ message, onRetry, onDiscard, onWithdraw }: OutgoingRowProps) {
  const { t } = useTranslation()
  if (message.state !== 'failed') {
    const Icon =
      message.state === 'queued' ? <Clock aria-hidden className="size-3" /> : <Spinner className="size-3" />
    return (
      <UserBubble
        text={message.text}
        footer={
          <>
            {Icon}
            {t(`chat.outgoing.${message.state}`)}
            {message.state === 'queued' && (
              <Button
                size="sm"
                variant="ghost"
                icon={<X aria-hidden className="size-3" />}
                onClick={() => onWithdraw(message)}
              >
                {t('chat.take_back')}
              </Button>
            )}
          </>
        }
      />
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

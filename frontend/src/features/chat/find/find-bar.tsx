import { ArrowDown, ArrowUp, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { errorDetail } from '@/api/errors'
import { IconButton } from '@/ui/form/icon-button'
import { Input } from '@/ui/form/input'
import type { Find } from './use-find'

export interface FindBarProps {
  find: Find
  /**
   * A counter that grows each time the user opens the search. Then the field of the search gets the focus.
   */
  asked: number
  onClose: () => void
}

/** Finds words in the whole conversation, also in events that are not loaded. */
export function FindBar({ find, asked, onClose }: FindBarProps) {
  const { t } = useTranslation()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    input.current?.focus()
    input.current?.select()
  }, [asked])
  const { match, number, count } = find
  return (
    <form
      role="search"
      aria-label={t('find.title')}
      className="shrink-0 border-b border-border px-3 py-2 sm:px-6"
      onSubmit={(event) => event.preventDefault()}
    >
      <div className="mx-auto flex w-full max-w-3xl items-center gap-1">
        <Input
          ref={input}
          value={find.text}
          placeholder={t('find.title')}
          aria-label={t('find.title')}
          maxLength={200}
          className="min-w-0 flex-1"
          onChange={(event) => find.setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
            event.preventDefault()
            if (event.shiftKey) find.showNewer()
            else find.showOlder()
          }}
        />
        <IconButton
          size="sm"
          label={t('find.older')}
          icon={<ArrowUp aria-hidden className="size-4" />}
          disabled={match === null || (count !== null && number >= count)}
          onClick={find.showOlder}
        />
        <IconButton
          size="sm"
          label={t('find.newer')}
          icon={<ArrowDown aria-hidden className="size-4" />}
          disabled={match === null || number <= 1}
          onClick={find.showNewer}
        />
        <IconButton
          size="sm"
          label={t('find.close')}
          icon={<X aria-hidden className="size-4" />}
          onClick={onClose}
        />
      </div>
      <div role="status" className="mx-auto mt-1 min-h-4 w-full max-w-3xl text-xs text-muted">
        {find.words !== '' && (
          <p className="line-clamp-2 wrap-anywhere">
            <span className="mr-2 tabular-nums">{found(find)}</span>
            {match?.passage.map((part, index) =>
              part.is_match ? (
                <mark key={index} className="rounded-sm bg-found font-semibold text-text">
                  {part.text}
                </mark>
              ) : (
                <span key={index}>{part.text}</span>
              ),
            )}
          </p>
        )}
      </div>
    </form>
  )

  function found({ error }: Find): string {
    if (error) return errorDetail(error)
    if (count === 0) return t('find.nothing')
    if (match === null || count === null) return t('find.searching')
    return t('find.place', { number, count })
  }
}

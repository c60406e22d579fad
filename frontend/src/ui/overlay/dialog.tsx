import clsx from 'clsx'
import { X } from 'lucide-react'
import { Dialog as Primitive } from 'radix-ui'
import { useRef, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { IconButton } from '@/ui/form/icon-button'

export interface DialogProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  title: ReactNode
  description?: ReactNode
  children: ReactNode
  className?: string
}

/**
 * A modal dialog with a title. The buttons belong in `DialogActions`. When the dialog closes, the element
 * that opened it gets the focus.
 */
export function Dialog({ isOpen, onOpenChange, title, description, children, className }: DialogProps) {
  const { t } = useTranslation()
  const opener = useRef<HTMLElement | null>(null)
  return (
    <Primitive.Root open={isOpen} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 grid animate-appear grid-cols-1 place-items-center overflow-y-auto bg-scrim p-4">
          <Primitive.Content
            {...(!description && { 'aria-describedby': undefined })}
            onOpenAutoFocus={() => {
              opener.current = openerOf(document.activeElement)
            }}
            onCloseAutoFocus={(event) => {
              // The library gives the focus to a trigger. Our dialogs have no trigger, so the body of the
              // page would get the focus.
              event.preventDefault()
              opener.current?.focus()
            }}
            className={clsx(
              'relative w-full max-w-lg rounded-xl border border-border bg-raised p-4 shadow-overlay outline-none sm:p-6',
              className,
            )}
          >
            <Primitive.Title className="pr-8 text-lg font-semibold">{title}</Primitive.Title>
            {description && (
              <Primitive.Description className="mt-1 text-sm wrap-anywhere text-muted">
                {description}
              </Primitive.Description>
            )}
            <div className="mt-5">{children}</div>
            <Primitive.Close asChild>
              <IconButton
                label={t('action.close')}
                size="sm"
                hasTooltip={false}
                className="absolute top-3 right-3 sm:top-4 sm:right-4"
                icon={<X className="size-4" />}
              />
            </Primitive.Close>
          </Primitive.Content>
        </Primitive.Overlay>
      </Primitive.Portal>
    </Primitive.Root>
  )
}

/**
 * Returns the button of the menu if `element` is in a menu. The menu no longer exists when the dialog closes.
 */
function openerOf(element: Element | null): HTMLElement | null {
  const button = element?.closest('[role=menu]')?.getAttribute('aria-labelledby')
  const opener = button ? document.getElementById(button) : element
  return opener instanceof HTMLElement ? opener : null
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="mt-6 flex flex-wrap justify-end gap-2">{children}</div>
}

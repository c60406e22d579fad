import clsx from 'clsx'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Dialog } from './dialog'

export interface ZoomableImageProps {
  src: string
  alt: string
  className?: string
}

/** A picture that the user can open in its full size. */
export function ZoomableImage({ src, alt, className }: ZoomableImageProps) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        aria-label={t('action.enlarge', { name: alt })}
        onClick={() => setIsOpen(true)}
        className="block max-w-full cursor-zoom-in rounded-md"
      >
        <img src={src} alt={alt} className={clsx('max-w-full rounded-md', className)} />
      </button>
      <Dialog
        isOpen={isOpen}
        onOpenChange={setIsOpen}
        title={alt}
        className="w-fit! max-w-[min(100%,84rem)]!"
      >
        <div
          // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
          tabIndex={0}
          className="max-h-[80vh] overflow-auto rounded-md border border-border"
        >
          <img src={src} alt={alt} className="max-w-none" />
        </div>
      </Dialog>
    </>
  )
}

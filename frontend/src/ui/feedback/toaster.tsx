import { Toaster as Sonner } from 'sonner'
import { useTheme } from '@/lib/browser/theme'

/** Mounted once. Show one with `toast.success(text)` or `toast.error(text, { description })` from sonner. */
export function Toaster() {
  return (
    <Sonner
      theme={useTheme()}
      position="bottom-right"
      closeButton
      toastOptions={{
        classNames: {
          toast: '!bg-raised !text-text !border-border !shadow-overlay !rounded-lg !font-sans',
          description: '!text-muted',
          closeButton: '!bg-raised !text-muted !border-border',
          error: '[&_[data-icon]]:text-danger',
          success: '[&_[data-icon]]:text-success',
        },
      }}
    />
  )
}

import { Toaster as Sonner } from 'sonner'
import { useTheme } from '@/lib/browser/theme'

/**
 * The place where toasts appear. The app mounts it once. `toast.success(text)` and `toast.error(text, {
 * description })` from sonner show a toast.
 */
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

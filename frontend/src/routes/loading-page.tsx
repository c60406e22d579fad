import { Logo } from '@/ui/drawings/logo'

/** Shown while the first page and the signed-in user are loading. */
export function LoadingPage() {
  return (
    <div role="status" aria-label="Slipway" className="grid h-full place-items-center">
      <Logo className="size-10 animate-pulse" />
    </div>
  )
}

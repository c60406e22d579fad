import { Logo } from '@/ui/drawings/logo'

/** Is shown while the first page and the signed-in user are loaded. */
export function LoadingPage() {
  return (
    <div role="status" aria-label="Slipway" className="grid h-full place-items-center">
      <Logo className="size-10 animate-pulse" />
    </div>
  )
}

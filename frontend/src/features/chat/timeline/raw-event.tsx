import { ScrollPre } from '@/ui/text/scroll-pre'
import { CopyButton } from '../text/code-block'

/** An event exactly as it came over the wire. */
export function RawEvent({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2)
  return (
    <div className="relative mt-1">
      <CopyButton text={text} className="absolute top-0.5 right-0.5" />
      <ScrollPre className="max-h-96 rounded-md border border-border bg-sunken p-3 font-mono text-xs">
        {text}
      </ScrollPre>
    </div>
  )
}

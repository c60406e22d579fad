import clsx from 'clsx'

/** The logo of the product: a ship's hull that slides into the water. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={clsx('size-7 shrink-0', className)}>
      <path
        d="M4.6 6.4 25.8 13.6c-1.7 4.3-5.3 6.2-9.9 4.7L9 16c-3.4-1.2-5.1-4.8-4.4-9.6Z"
        className="fill-accent"
      />
      <path
        d="M3 19.6 29 28.4"
        className="stroke-signal"
        strokeWidth="2.6"
        strokeLinecap="round"
        fill="none"
      />
    </svg>
  )
}

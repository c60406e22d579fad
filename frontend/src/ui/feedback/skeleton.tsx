import clsx from 'clsx'

/** A grey placeholder for content that is loading. `className` sets its size. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden="true" className={clsx('block animate-pulse rounded-md bg-hover', className)} />
}

/** Several skeleton lines. Screen readers announce them once. */
export function SkeletonList({
  rows,
  label,
  className,
}: {
  rows: number
  label: string
  className?: string
}) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-2">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} className={clsx('h-10', className)} />
      ))}
    </div>
  )
}

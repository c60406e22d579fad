import clsx from 'clsx'

/** A grey stand-in of the shape that is loading; size it with `className`. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden="true" className={clsx('block animate-pulse rounded-md bg-hover', className)} />
}

/** Several lines of it, announced once. */
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

import clsx from 'clsx'

const STATIONS = Array.from({ length: 11 }, (_, index) => 60 + index * 62)
const WATERLINES = [1, 0.86, 0.7, 0.52, 0.32, 0.12]

/** A decorative drawing: the plan of a ship's hull in lines. */
export function LinesDrawing({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 740 250" aria-hidden="true" fill="none" className={clsx('stroke-current', className)}>
      {STATIONS.map((x) => (
        <path key={x} d={`M${x} 24V226`} strokeWidth="0.6" strokeDasharray="1 5" />
      ))}
      {WATERLINES.map((breadth) => {
        const depth = 92 * breadth
        const stern = 64 + (1 - breadth) * 74
        const bow = 700 - (1 - breadth) * 92
        return (
          <path
            key={breadth}
            strokeWidth={breadth === 1 ? 1.4 : 0.8}
            d={[
              `M${stern} 125`,
              `C${stern + 6} ${125 - depth * 0.95} ${stern + 130} ${125 - depth} 380 ${125 - depth}`,
              `S${bow - 60} ${125 - depth * 0.55} ${bow} 125`,
              `C${bow - 60} ${125 + depth * 0.55} ${bow - 150} ${125 + depth} 380 ${125 + depth}`,
              `S${stern + 6} ${125 + depth * 0.95} ${stern} 125Z`,
            ].join('')}
          />
        )
      })}
      <path d="M20 125H724" strokeWidth="0.8" strokeDasharray="14 4 2 4" />
    </svg>
  )
}

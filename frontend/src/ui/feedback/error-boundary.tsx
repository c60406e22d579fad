import { Component, type ErrorInfo, type ReactNode } from 'react'
import { isMissingPart } from '@/lib/browser/reload-once'
import { ErrorState } from './error-state'
import { MissingPart } from './missing-part'

export interface ErrorBoundaryProps {
  /** What failed, as a short sentence. */
  title: string
  /** The boundary forgets its error when this changes, e.g. the id of what is shown. */
  resetKey?: string
  /** What is shown instead of the error and the way to try again. */
  fallback?: ReactNode
  children: ReactNode
}

/** Keeps a crash inside one panel; the rest of the page goes on. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(error, info.componentStack)
  }

  override componentDidUpdate(previous: ErrorBoundaryProps): void {
    if (this.state.error && previous.resetKey !== this.props.resetKey) this.setState({ error: null })
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    if (this.props.fallback !== undefined && !isMissingPart(error)) return this.props.fallback
    return (
      <div className="p-4">
        {isMissingPart(error) ? (
          <MissingPart title={this.props.title} />
        ) : (
          <ErrorState error={error} title={this.props.title} onRetry={() => this.setState({ error: null })} />
        )}
      </div>
    )
  }
}

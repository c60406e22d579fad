import { Component, type ErrorInfo, type ReactNode } from 'react'
import { isMissingPart } from '@/lib/browser/reload-once'
import { ErrorState } from './error-state'
import { MissingPart } from './missing-part'

export interface ErrorBoundaryProps {
  /** What failed, as a short sentence. */
  title: string
  /** When this value changes, the boundary forgets its error. An example is the id of the shown object. */
  resetKey?: string
  /** The content that replaces the error message and its retry button. */
  fallback?: ReactNode
  children: ReactNode
}

/** Limits a crash to one panel, so that the rest of the page continues to work. */
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

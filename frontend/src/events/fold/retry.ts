/** Why a model could not be asked, who is asked next, and in how many seconds from the frame's arrival. */
export interface Retry {
  code: string
  detail: string
  model: string
  wait_seconds: number
  next_attempt: number
  max_attempts: number
}

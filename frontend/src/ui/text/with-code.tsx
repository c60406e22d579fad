import { InlineCode } from './inline-code'

const CODE = /`([^`]+)`/

/** A plain sentence of the server's, in which commands and names stand between backticks. */
export function WithCode({ text }: { text: string }) {
  // What a pattern has caught stands at every second place of what it splits.
  return text
    .split(CODE)
    .map((part, index) => (index % 2 ? <InlineCode key={index}>{part}</InlineCode> : part))
}

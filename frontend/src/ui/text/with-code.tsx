import { InlineCode } from './inline-code'

const CODE = /`([^`]+)`/

/** A plain sentence of the app server. Commands and names in the sentence are between backticks. */
export function WithCode({ text }: { text: string }) {
  // A split with a capturing group puts the captured texts at the odd indexes.
  return text
    .split(CODE)
    .map((part, index) => (index % 2 ? <InlineCode key={index}>{part}</InlineCode> : part))
}
